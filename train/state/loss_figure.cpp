#include "train/state/loss_figure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/picture/svg_plot.hpp"

namespace cosmo::train {

namespace svg = core::svg;
using svg::Axis;
using svg::kInk;

namespace {

constexpr double kWidth = 720, kHeight = 420;
constexpr double kLeft = 70, kRight = 700, kTop = 56, kBottom = 366;  ///< edges of the plot

/// One of two curves.
struct Curve {
  const char* name;
  const char* colour;
  double EpochMetrics::*value;
};
constexpr std::array<Curve, 2> kCurves = {{{"training", "#3366aa", &EpochMetrics::train_loss},
                                           {"validation", "#cc5533", &EpochMetrics::validation_loss}}};

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
    const double at = x.place(epoch.epoch), value = y.place(epoch.*curve.value);
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
    const std::string name = fmt::format("{} {:.4g}", curve->name, history.back().*(curve->value));
    markup +=
        svg::text(x, kTop - 14, "end", name, fmt::format(" fill=\"{}\" font-weight=\"bold\"", curve->colour));
    x -= 150;
  }
  return markup;
}

std::string mark_best(const EpochMetrics& best, const Axis& x, const Axis& y) {
  const double at = x.place(best.epoch), value = y.place(best.validation_loss);
  const bool right = at > (kLeft + kRight) / 2;
  return svg::circle(at, value, 6, fmt::format(" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"", kInk)) +
         svg::text(at + (right ? -10 : 10), value > kBottom - 30 ? value - 14 : value + 22,
                   right ? "end" : "start",
                   fmt::format("chosen: {:.4g}, epoch {}", best.validation_loss, best.epoch),
                   " stroke=\"white\" stroke-width=\"4\" paint-order=\"stroke\"");
}

}  // namespace

std::string loss_figure(const std::vector<EpochMetrics>& history, const EpochMetrics& best,
                        const std::string& title, const std::string& loss) {
  double smallest = history[0].train_loss, largest = smallest;
  for (const EpochMetrics& epoch : history) {
    for (const Curve& curve : kCurves) {
      smallest = std::min(smallest, epoch.*curve.value);
      largest = std::max(largest, epoch.*curve.value);
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
