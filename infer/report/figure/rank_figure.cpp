#include "infer/report/figure/rank_figure.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/picture/svg_plot.hpp"
#include "infer/report/figure/square_axes.hpp"

namespace cosmo::infer {

namespace svg = core::svg;

namespace {

std::string box(double x, double y, double width, double height, const std::string& more) {
  return fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"{}/>\n", x, y, width,
                     height, more);
}

}  // namespace

std::string rank_figure(const std::string& name, const std::string& symbol, const std::vector<double>& counts,
                        double low, double high) {
  const auto bins = static_cast<double>(counts.size());
  double largest = high, sum = 0;
  for (const double count : counts) {
    largest = std::max(largest, count);
    sum += count;
  }
  const svg::Axis x = svg::linear_axis(0, 1, square::kLeft, square::kRight, 5);
  const svg::Axis y = svg::linear_axis(0, 1.06 * largest, square::kBottom, square::kTop, 6);
  std::string content = svg::frame(x, y, "predicted probability below the true " + symbol, "universes");
  const double step = (square::kRight - square::kLeft) / bins;
  for (std::size_t bin = 0; bin < counts.size(); ++bin)
    content +=
        box(square::kLeft + step * static_cast<double>(bin) + 0.5, y.place(counts[bin]), step - 1,
            square::kBottom - y.place(counts[bin]), fmt::format(" fill=\"{}\" fill-opacity=\"0.6\"", kBlue));
  content += box(square::kLeft, y.place(high), square::kRight - square::kLeft, y.place(low) - y.place(high),
                 fmt::format(" fill=\"{}\" fill-opacity=\"0.13\"", svg::kInk));
  content += svg::line(square::kLeft, y.place(sum / bins), square::kRight, y.place(sum / bins), svg::kInk);
  return svg::image(square::kSize, square::kSize, name + ": ranks of the truths", content);
}

}  // namespace cosmo::infer
