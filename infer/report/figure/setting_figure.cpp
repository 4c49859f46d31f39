#include "infer/report/figure/setting_figure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/picture/svg_plot.hpp"

namespace cosmo::infer {

namespace svg = core::svg;

namespace {

constexpr double kFigureWidth = 560, kFrom = 16, kTo = 544, kFirstRow = 46, kBelow = 56, kTitleHeight = 20,
                 kPointStep = 14;
/// Colours that readers with any colour vision can distinguish (Okabe & Ito 2008).
constexpr std::array<const char*, 6> kColours = {"#0072b2", "#d55e00", "#009e73",
                                                 "#cc79a7", "#56b4e9", "#6b6f76"};

const char* colour_of(std::size_t parameter) { return kColours[parameter % kColours.size()]; }

std::string legend(const std::vector<std::string>& symbols) {
  std::string content;
  for (std::size_t p = 0; p < symbols.size(); ++p) {
    const double x = kFrom + 6 + 80 * static_cast<double>(p);
    content += svg::circle(x, 16, 5, fmt::format(" fill=\"{}\"", colour_of(p)));
    content += svg::text(x + 12, 21, "start", symbols[p], " font-weight=\"bold\"");
  }
  return content;
}

/// A title in lines that fit, broken between settings.
std::vector<std::string> lines_of(const std::string& title) {
  constexpr std::size_t kLongest = 76;
  std::vector<std::string> lines(1);
  for (std::size_t from = 0; from < title.size();) {
    const std::size_t end = std::min(title.find(", ", from), title.size() - 1) + 1;
    const std::string part = title.substr(from, end - from);
    if (!lines.back().empty() && lines.back().size() + part.size() > kLongest) lines.emplace_back();
    lines.back() += lines.back().empty() && part.front() == ' ' ? part.substr(1) : part;
    from = end;
  }
  return lines;
}

/// The axis, symmetric about zero, which holds every point.
svg::Axis axis_of(const std::vector<SettingBias>& settings) {
  double largest = 2 * kHoldsWithin;
  for (const SettingBias& setting : settings) {
    for (const auto& [value, error] : setting.points)
      if (std::isfinite(value)) largest = std::max(largest, std::abs(value) + error.value_or(0));
  }
  return svg::linear_axis(-1.06 * largest, 1.06 * largest, kFrom, kTo, 9);
}

std::string points_of(const SettingBias& setting, const svg::Axis& x, double y) {
  std::string content;
  for (std::size_t p = 0; p < setting.points.size(); ++p) {
    const auto& [value, error] = setting.points[p];
    if (!std::isfinite(value)) continue;
    const double at = y + kPointStep * static_cast<double>(p);
    if (error)
      content += svg::line(x.place(value - *error), at, x.place(value + *error), at, colour_of(p),
                           " stroke-width=\"2\"");
    content += svg::circle(x.place(value), at, 5, fmt::format(" fill=\"{}\"", colour_of(p)));
  }
  return content;
}

}  // namespace

std::string setting_figure(const std::vector<std::string>& symbols,
                           const std::vector<SettingBias>& settings) {
  const double points = kPointStep * static_cast<double>(symbols.size()) + 8;
  double bottom = kFirstRow;
  for (const SettingBias& setting : settings)
    bottom += kTitleHeight * static_cast<double>(lines_of(setting.title).size()) + points;
  const svg::Axis x = axis_of(settings);
  std::string content = legend(symbols);
  content += fmt::format(
      "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\" fill-opacity=\"0.1\"/>\n",
      x.place(-kHoldsWithin), kFirstRow - 8, x.place(kHoldsWithin) - x.place(-kHoldsWithin),
      bottom - kFirstRow + 8, svg::kInk);
  for (const double mark : x.marks) {
    content += svg::line(x.place(mark), kFirstRow - 8, x.place(mark), bottom, svg::kGrid);
    content += svg::text(x.place(mark), bottom + 18, "middle", fmt::format("{:.6g}", mark));
  }
  content += svg::line(kFrom, bottom, kTo, bottom, svg::kInk);
  content +=
      svg::text((kFrom + kTo) / 2, bottom + 42, "middle", "mean error / rms error on validation universes");
  double y = kFirstRow;
  for (const SettingBias& setting : settings) {
    for (const std::string& line : lines_of(setting.title)) {
      content += svg::text(kFrom + 4, y + 6, "start", svg::escaped(line),
                           R"( paint-order="stroke" stroke="#fff" stroke-width="5")");
      y += kTitleHeight;
    }
    content += points_of(setting, x, y + 4);
    y += points;
  }
  return svg::image(kFigureWidth, bottom + kBelow,
                    "Where this network holds: bias on universes of each setting", content);
}

}  // namespace cosmo::infer
