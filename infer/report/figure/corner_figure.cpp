#include "infer/report/figure/corner_figure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/picture/svg_plot.hpp"
#include "infer/report/figure/square_axes.hpp"
#include "infer/report/figure/symbol.hpp"

namespace cosmo::infer {

namespace svg = core::svg;

namespace {

constexpr double kPanel = 190, kGap = 14, kLeftOfPanels = 64, kAbovePanels = 12, kBelowPanels = 52;
constexpr int kBins = 40;

/// A panel's place: column from the left, row from the top.
struct Panel {
  double left, top;
};
Panel panel(std::size_t column, std::size_t row) {
  const double step = kPanel + kGap;
  return {kLeftOfPanels + static_cast<double>(column) * step, kAbovePanels + static_cast<double>(row) * step};
}

svg::Axis axis_of(const core::ParameterSpace& space, std::size_t p, double from, double to) {
  return svg::linear_axis(space.low[p], space.high[p], from, to, 3);
}

std::string box(const Panel& at) {
  return fmt::format(
      "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"{}\"/>\n", at.left,
      at.top, kPanel, kPanel, svg::kInk);
}

/// Shares of the draws of parameter p in equal parts of its range, as bars; the highest reaches nine tenths of the panel.
std::string histogram(const core::ParameterSpace& space, std::span<const double> draws, std::size_t p,
                      const Panel& at) {
  std::vector<int> counts(kBins);
  for (std::size_t i = p; i < draws.size(); i += space.size()) {
    const double place = (draws[i] - space.low[p]) / (space.high[p] - space.low[p]);
    ++counts[static_cast<std::size_t>(std::clamp(static_cast<int>(place * kBins), 0, kBins - 1))];
  }
  const int most = *std::ranges::max_element(counts);
  std::string bars;
  for (int bin = 0; bin < kBins; ++bin) {
    const double height = 0.9 * kPanel * counts[static_cast<std::size_t>(bin)] / std::max(1, most);
    if (height == 0) continue;
    bars += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>\n",
                        at.left + bin * kPanel / kBins, at.top + kPanel - height, kPanel / kBins, height);
  }
  return fmt::format("<g fill=\"{}\" fill-opacity=\"0.5\">\n{}</g>\n", kBlue, bars);
}

std::string points(const core::ParameterSpace& space, std::span<const double> draws, std::size_t across,
                   std::size_t up, const Panel& at) {
  const svg::Axis x = axis_of(space, across, at.left, at.left + kPanel);
  const svg::Axis y = axis_of(space, up, at.top + kPanel, at.top);
  std::string dots;
  for (std::size_t i = 0; i < draws.size(); i += space.size())
    dots += svg::circle(x.place(draws[i + across]), y.place(draws[i + up]), 1.2);
  return fmt::format("<g fill=\"{}\" fill-opacity=\"0.35\">\n{}</g>\n", kBlue, dots);
}

/// Numbers below the lowest panel of a column.
std::string numbers_below(const core::ParameterSpace& space, std::size_t p, const Panel& at) {
  const svg::Axis x = axis_of(space, p, at.left, at.left + kPanel);
  std::string content;
  for (const double mark : x.marks)
    content += svg::line(x.place(mark), at.top + kPanel, x.place(mark), at.top + kPanel + 5, svg::kInk) +
               svg::text(x.place(mark), at.top + kPanel + 19, "middle", fmt::format("{:.6g}", mark));
  return content +
         svg::text(at.left + kPanel / 2, at.top + kPanel + 42, "middle", svg_symbol(space.names[p]));
}

/// Numbers beside the first panel of a row.
std::string numbers_beside(const core::ParameterSpace& space, std::size_t p, const Panel& at) {
  const svg::Axis y = axis_of(space, p, at.top + kPanel, at.top);
  std::string content;
  for (const double mark : y.marks)
    content += svg::line(at.left - 5, y.place(mark), at.left, y.place(mark), svg::kInk) +
               svg::text(at.left - 9, y.place(mark) + 4, "end", fmt::format("{:.6g}", mark));
  return content + svg::text(14, at.top + kPanel / 2, "middle", svg_symbol(space.names[p]),
                             fmt::format(" transform=\"rotate(-90 14 {:.1f})\"", at.top + kPanel / 2));
}

/// Lines at the truth: one across a histogram, a cross in a pair.
std::string truth_lines(const core::ParameterSpace& space, std::span<const double> truth, std::size_t column,
                        std::size_t row, const Panel& at) {
  constexpr const char* kTruth = "#cc5533";
  const svg::Axis x = axis_of(space, column, at.left, at.left + kPanel);
  std::string lines;
  if (truth[column] >= space.low[column] && truth[column] <= space.high[column])
    lines += svg::line(x.place(truth[column]), at.top, x.place(truth[column]), at.top + kPanel, kTruth);
  const svg::Axis y = axis_of(space, row, at.top + kPanel, at.top);
  if (row != column && truth[row] >= space.low[row] && truth[row] <= space.high[row])
    lines += svg::line(at.left, y.place(truth[row]), at.left + kPanel, y.place(truth[row]), kTruth);
  return lines;
}

}  // namespace

std::string corner_figure(const core::ParameterSpace& space, std::span<const double> draws,
                          std::span<const double> truth) {
  const std::size_t count = space.size();
  std::string content;
  for (std::size_t row = 0; row < count; ++row) {
    for (std::size_t column = 0; column <= row; ++column) {
      const Panel at = panel(column, row);
      content += row == column ? histogram(space, draws, row, at) : points(space, draws, column, row, at);
      content += truth_lines(space, truth, column, row, at) + box(at);
      if (row + 1 == count) content += numbers_below(space, column, at);
      if (column == 0 && row > 0) content += numbers_beside(space, row, at);
    }
  }
  const double side = static_cast<double>(count) * (kPanel + kGap);
  return svg::image(kLeftOfPanels + side, kAbovePanels + side + kBelowPanels - kGap,
                    "Draws from the posterior of one universe", content);
}

}  // namespace cosmo::infer
