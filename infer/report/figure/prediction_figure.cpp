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

/// The deviation of parameter p that all rows share; nothing if they differ or there is none.
std::optional<double> shared_deviation(const dataset::PredictionTable& table, std::size_t p) {
  if (table.rows.empty() || table.rows.front().deviation.empty()) return std::nullopt;
  const double first = table.rows.front().deviation[p];
  const bool shared = std::ranges::all_of(
      table.rows, [&](const dataset::PredictionRow& row) { return row.deviation[p] == first; });
  return shared ? std::optional(first) : std::nullopt;
}

/// A bar of each prediction, or one in the corner where all are alike.
std::string bars_of(const dataset::PredictionTable& table, std::size_t p, const svg::Axis& x,
                    const svg::Axis& y) {
  const auto bar = [&](double at, double value, double deviation, const char* more) {
    return svg::line(at, y.place(value - deviation), at, y.place(value + deviation), kBlue, more);
  };
  if (const std::optional<double> shared = shared_deviation(table, p)) {
    const double value = y.high - *shared - 0.04 * (y.high - y.low);
    return bar(square::kLeft + 14, value, *shared, " stroke-opacity=\"1\" stroke-width=\"2\"") +
           svg::text(square::kLeft + 20, y.place(value) + 4, "start", "±σ of each");
  }
  std::string bars;
  for (const dataset::PredictionRow& row : table.rows) {
    if (!row.deviation.empty()) bars += bar(x.place(row.truth[p]), row.prediction[p], row.deviation[p], "");
  }
  return bars;
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
  std::string points;
  for (const dataset::PredictionRow& row : table.rows)
    points += svg::circle(x.place(row.truth[p]), y.place(row.prediction[p]), many ? 2 : 3.5);
  inside += fmt::format("<g stroke-opacity=\"{}\">\n{}</g>\n<g fill=\"{}\" fill-opacity=\"{}\">\n{}</g>\n",
                        many ? 0.2 : 0.45, bars_of(table, p, x, y), kBlue, many ? 0.7 : 0.9, points);
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
