#include "infer/report/figure/prediction_figure.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/picture/svg_plot.hpp"
#include "infer/report/figure/square_axes.hpp"
#include "infer/report/figure/symbol.hpp"

namespace cosmo::infer {

namespace svg = core::svg;

namespace {

struct Range {
  double low, high;
};

/// The parameter's range, widened to all that is drawn.
Range range_of(const dataset::PredictionTable& table, std::size_t p) {
  Range range{table.parameters.low[p], table.parameters.high[p]};
  const double margin = 0.03 * (range.high - range.low);
  for (const dataset::PredictionRow& row : table.rows) {
    range.low = std::min({range.low, row.truth[p], row.prediction[p]});
    range.high = std::max({range.high, row.truth[p], row.prediction[p]});
  }
  return {range.low - margin, range.high + margin};
}

/// The region within `half` of the line of equality.
std::string band_around(const svg::Axis& x, const svg::Axis& y, double half) {
  const double low = x.low, high = x.high;
  return fmt::format(
      "<polygon points=\"{:.1f},{:.1f} {:.1f},{:.1f} {:.1f},{:.1f} {:.1f},{:.1f}\" fill=\"{}\" "
      "fill-opacity=\"0.13\"/>\n",
      x.place(low), y.place(low - half), x.place(high), y.place(high - half), x.place(high),
      y.place(high + half), x.place(low), y.place(low + half), kBlue);
}

}  // namespace

std::string prediction_figure(const dataset::PredictionTable& table, std::size_t p,
                              std::optional<double> band) {
  const auto [low, high] = range_of(table, p);
  const svg::Axis x = svg::linear_axis(low, high, square::kLeft, square::kRight, 6);
  const svg::Axis y = svg::linear_axis(low, high, square::kBottom, square::kTop, 6);
  const std::string symbol = svg_symbol(table.parameters.names[p]);
  std::string inside;
  if (band) inside += band_around(x, y, *band);
  inside += svg::line(x.place(low), y.place(low), x.place(high), y.place(high), svg::kInk);
  const bool many = table.rows.size() > 200;
  std::string bars, points;
  for (const dataset::PredictionRow& row : table.rows) {
    const double at = x.place(row.truth[p]), value = row.prediction[p];
    if (!row.deviation.empty())
      bars += svg::line(at, y.place(value - row.deviation[p]), at, y.place(value + row.deviation[p]), kBlue);
    points += svg::circle(at, y.place(value), many ? 2 : 3.5);
  }
  inside += fmt::format("<g stroke-opacity=\"0.55\">\n{}</g>\n<g fill=\"{}\" fill-opacity=\"{}\">\n{}</g>\n",
                        bars, kBlue, many ? 0.6 : 0.9, points);
  const std::string content =
      svg::frame(x, y, "true " + symbol, "predicted " + symbol) +
      fmt::format(
          "<clipPath id=\"plot\"><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/></clipPath>\n"
          "<g clip-path=\"url(#plot)\">\n{}</g>\n",
          square::kLeft, square::kTop, square::kRight - square::kLeft, square::kBottom - square::kTop,
          inside);
  return svg::image(square::kSize, square::kSize, table.parameters.names[p] + ": prediction against truth",
                    content);
}

}  // namespace cosmo::infer
