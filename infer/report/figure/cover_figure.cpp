#include "infer/report/figure/cover_figure.hpp"

#include <fmt/format.h>

#include "core/picture/svg_plot.hpp"
#include "infer/report/figure/square_axes.hpp"

namespace cosmo::infer {

namespace svg = core::svg;

std::string cover_figure(const std::vector<double>& credibility, const std::vector<double>& coverage,
                         const std::vector<double>& low, const std::vector<double>& high) {
  const svg::Axis x = svg::linear_axis(0, 1, square::kLeft, square::kRight, 5);
  const svg::Axis y = svg::linear_axis(0, 1, square::kBottom, square::kTop, 5);
  const auto point = [&](double at, double share) {
    return fmt::format("{:.1f},{:.1f} ", x.place(at), y.place(share));
  };
  std::string band = point(0, 0), back, curve = point(0, 0);
  for (std::size_t edge = 0; edge < credibility.size(); ++edge) {
    band += point(credibility[edge], high[edge]);
    back = point(credibility[edge], low[edge]) + back;
    curve += point(credibility[edge], coverage[edge]);
  }
  const std::string content =
      svg::frame(x, y, "credibility", "share of the truths within") +
      fmt::format("<polygon points=\"{}{}{}\" fill=\"{}\" fill-opacity=\"0.13\"/>\n", band, point(1, 1), back,
                  svg::kInk) +
      svg::line(square::kLeft, square::kBottom, square::kRight, square::kTop, svg::kInk) +
      fmt::format("<polyline points=\"{}{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>\n", curve,
                  point(1, 1), kBlue);
  return svg::image(square::kSize, square::kSize, "All parameters together: coverage of credible regions",
                    content);
}

}  // namespace cosmo::infer
