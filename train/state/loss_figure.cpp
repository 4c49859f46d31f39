#include "train/state/loss_figure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "core/picture/svg_plot.hpp"

namespace cosmo::train {

namespace svg = core::svg;
using svg::Axis;
using svg::kInk;

namespace {

constexpr double kWidth = 720, kHeight = 420;
constexpr double kLeft = 70, kRight = 700, kTop = 56, kBottom = 366;  ///< edges of the plot

/// One of two curves, of the network alone if it has a baseline: a training loss of the mixture is never computed.
struct Curve {
  const char* name;
  const char* colour;
  std::optional<double> (*value)(const EpochMetrics& epoch);
};

std::optional<double> training_loss(const EpochMetrics& epoch) { return epoch.train_loss; }
std::optional<double> validation_loss(const EpochMetrics& epoch) {
  return is_mixed(epoch) ? epoch.loss_alone : epoch.validation_loss;
}

constexpr std::array<Curve, 2> kCurves = {
    {{"training", "#3366aa", training_loss}, {"validation", "#cc5533", validation_loss}}};

Axis epoch_axis(int first, int last) {
  Axis axis{
      static_cast<double>(first), static_cast<double>(std::max(last, first + 1)), kLeft, kRight, false, {}};
  const double step = std::max(1.0, svg::round_step((axis.high - axis.low) / 12));
  for (double mark = std::ceil(axis.low / step) * step; mark <= axis.high; mark += step)
    axis.marks.push_back(mark);
  return axis;
}

/// An axis from zero, or from the lowest loss if that is negative; logarithmic if the losses span more than a
/// factor of ten.
Axis loss_axis(double smallest, double largest) {
  if (smallest <= 0 || largest < 10 * smallest) {
    const double lowest = std::min(smallest, 0.0);
    const double step = svg::round_step(std::max(largest - lowest, 1e-30) / 6);
    const double first = std::floor(lowest / step + 1e-9), last = std::ceil(largest / step - 1e-9);
    Axis axis{first * step, step * std::max(first + 1, last), kBottom, kTop, false, {}};
    for (double i = first; i * step <= axis.high + 1e-9 * step; ++i) axis.marks.push_back(i * step);
    return axis;
  }
  return svg::logarithmic_axis(smallest / 1.1, largest * 1.1, kBottom, kTop);
}

std::string draw(const Curve& curve, const std::vector<EpochMetrics>& history, const Axis& x, const Axis& y) {
  std::string points, dots;
  for (const EpochMetrics& epoch : history) {
    const std::optional<double> loss = curve.value(epoch);
    if (!loss) continue;
    const double at = x.place(epoch.epoch), value = y.place(*loss);
    points += fmt::format("{}{:.1f},{:.1f}", points.empty() ? "" : " ", at, value);
    if (history.size() <= 60)
      dots += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.5\"/>\n", at, value);
  }
  return fmt::format(
      "<g fill=\"{0}\"><polyline points=\"{1}\" fill=\"none\" stroke=\"{0}\" stroke-width=\"2\" "
      "stroke-linejoin=\"round\"/>\n{2}</g>\n",
      curve.colour, points, dots);
}

/// Writes the names of the curves, with their last values, above the plot.
std::string legend(const std::vector<EpochMetrics>& history) {
  std::string markup;
  double x = kRight;
  for (auto curve = kCurves.rbegin(); curve != kCurves.rend(); ++curve) {
    const std::optional<double> last = curve->value(history.back());
    const std::string name = last ? fmt::format("{} {:.4g}", curve->name, *last) : "";
    markup +=
        svg::text(x, kTop - 14, "end", name, fmt::format(" fill=\"{}\" font-weight=\"bold\"", curve->colour));
    x -= 150;
  }
  return markup;
}

/// Marks the epoch that was chosen, by the loss of the predictions, which are the mixture if there is a baseline.
std::string mark_best(const EpochMetrics& best, const Axis& x, const Axis& y) {
  const std::optional<double> loss = validation_loss(best);
  if (!loss) return "";
  const double at = x.place(best.epoch), value = y.place(*loss);
  const bool right = at > (kLeft + kRight) / 2;
  const std::string mixed = is_mixed(best) ? " when mixed" : "";
  return svg::circle(at, value, 6, fmt::format(" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"", kInk)) +
         svg::text(at + (right ? -10 : 10), value > kBottom - 30 ? value - 14 : value + 22,
                   right ? "end" : "start",
                   fmt::format("chosen: {:.4g}{}, epoch {}", best.validation_loss, mixed, best.epoch),
                   " stroke=\"white\" stroke-width=\"4\" paint-order=\"stroke\"");
}

}  // namespace

std::string loss_figure(const std::vector<EpochMetrics>& history, const EpochMetrics& best,
                        const std::string& network, const std::string& loss) {
  const std::string title = is_mixed(best) ? network + " alone, without its baseline" : network;
  double smallest = history[0].train_loss, largest = smallest;
  for (const EpochMetrics& epoch : history) {
    for (const Curve& curve : kCurves) {
      const double value = curve.value(epoch).value_or(epoch.train_loss);
      smallest = std::min(smallest, value);
      largest = std::max(largest, value);
    }
  }
  const Axis x = epoch_axis(history.front().epoch, history.back().epoch), y = loss_axis(smallest, largest);
  std::string content =
      svg::text(kLeft, 26, "start", svg::escaped(title), " font-size=\"16\" font-weight=\"bold\"");
  content += svg::frame(x, y, "epoch", fmt::format("loss ({}) of labels in [−1, 1]", svg::escaped(loss)));
  for (const Curve& curve : kCurves) content += draw(curve, history, x, y);
  content += mark_best(best, x, y) + legend(history);
  return svg::image(kWidth, kHeight, title + ": loss against epoch", content);
}

}  // namespace cosmo::train
