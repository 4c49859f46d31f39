#include "infer/compare/curve_figure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/picture/svg_plot.hpp"

namespace cosmo::infer {

namespace svg = core::svg;

namespace {

constexpr double kWidth = 480, kLeft = 66, kRight = 464, kTop = 46, kBottom = 286, kLegend = 352, kLine = 20;
constexpr double kMostSpan = 50, kLogarithmicSpan = 10;
constexpr std::size_t kLegendColumns = 2;
/// Colours that differ for any colour vision (Okabe and Ito), and the dashes of the second and third round.
constexpr std::array<const char*, 7> kColours = {"#0072b2", "#d55e00", "#009e73", "#aa4499",
                                                 "#7f6000", "#56b4e9", "#444444"};
constexpr std::array<const char*, 3> kDashes = {"", " stroke-dasharray=\"7 4\"", " stroke-dasharray=\"2 3\""};

/// Colour and dashes of a curve, as attributes.
std::string stroke_of(std::size_t curve) {
  return fmt::format(" stroke=\"{}\"{}", kColours[curve % kColours.size()],
                     kDashes[curve / kColours.size() % kDashes.size()]);
}

struct Extent {
  int first = std::numeric_limits<int>::max(), last = 1;
  double low = std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity();
};

Extent extent_of(const std::vector<Curve>& curves) {
  Extent extent;
  for (const Curve& curve : curves) {
    for (const auto& [epoch, value] : curve.points) {
      if (!std::isfinite(value)) continue;
      extent.first = std::min(extent.first, epoch);
      extent.last = std::max(extent.last, epoch);
      extent.low = std::min(extent.low, value);
      extent.high = std::max(extent.high, value);
    }
  }
  return extent;
}

svg::Axis epoch_axis(const Extent& extent) {
  const int last = std::max(extent.last, extent.first + 1);
  svg::Axis axis = svg::linear_axis(extent.first, last, kLeft, kRight, 8);
  std::erase_if(axis.marks, [](double mark) { return mark != std::floor(mark); });
  return axis;
}

svg::Axis value_axis(const Extent& extent) {
  if (extent.low > 0 && extent.high > kLogarithmicSpan * extent.low)
    return svg::logarithmic_axis(extent.low / 1.1, std::min(extent.high * 1.1, kMostSpan * extent.low),
                                 kBottom, kTop);
  const double margin = 0.06 * std::max(extent.high - extent.low, 1e-12 + 1e-3 * std::abs(extent.high));
  return svg::linear_axis(extent.low - margin, extent.high + margin, kBottom, kTop, 6);
}

std::string draw(const Curve& curve, std::size_t number, const svg::Axis& x, const svg::Axis& y) {
  std::string points, marks;
  for (const auto& [epoch, value] : curve.points) {
    if (!std::isfinite(value)) continue;
    const double at = x.place(epoch), height = y.place(std::clamp(value, y.low, y.high));
    points += fmt::format("{}{:.1f},{:.1f}", points.empty() ? "" : " ", at, height);
    if (curve.points.size() == 1 || curve.chosen == epoch)
      marks += svg::circle(at, height, 5,
                           " fill=\"#fff\" stroke-width=\"2\"" +
                               fmt::format(" stroke=\"{}\"", kColours[number % kColours.size()]));
  }
  return fmt::format(
             "<polyline points=\"{}\" fill=\"none\"{} stroke-width=\"2\" stroke-linejoin=\"round\"/>\n",
             points, stroke_of(number)) +
         marks;
}

std::string legend_entry(const Curve& curve, std::size_t number) {
  constexpr std::size_t kLongest = 22;
  std::string label = curve.label;  // names of runs differ at the end
  if (label.size() > kLongest) {
    std::size_t first = label.size() - kLongest;
    while (first < label.size() && (static_cast<unsigned char>(label[first]) & 0xC0) == 0x80) ++first;
    label = "…" + label.substr(first);
  }
  const double column = (kRight - kLeft) / static_cast<double>(kLegendColumns);
  const double x = kLeft + column * static_cast<double>(number % kLegendColumns);
  const double y = kLegend + kLine * static_cast<double>(number / kLegendColumns);
  return fmt::format("<path d=\"M{:.0f} {:.0f}h22\"{} stroke-width=\"3\"/>\n", x, y - 4, stroke_of(number)) +
         svg::text(x + 28, y, "start", svg::escaped(label));
}

}  // namespace

std::string curve_figure(const std::string& title, const std::string& quantity,
                         const std::vector<Curve>& curves) {
  const Extent extent = extent_of(curves);
  if (!(extent.low <= extent.high)) return "";
  const svg::Axis x = epoch_axis(extent), y = value_axis(extent);
  std::string content =
      svg::text(16, 24, "start", svg::escaped(title), " font-size=\"16\" font-weight=\"bold\"");
  content += svg::frame(x, y, "epoch", svg::escaped(quantity));
  for (std::size_t c = 0; c < curves.size(); ++c)
    content += draw(curves[c], c, x, y) + legend_entry(curves[c], c);
  const double lines = std::ceil(static_cast<double>(curves.size()) / static_cast<double>(kLegendColumns));
  return svg::image(kWidth, kLegend + kLine * lines, title, content);
}

}  // namespace cosmo::infer
