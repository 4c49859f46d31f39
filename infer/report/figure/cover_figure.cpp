#include "infer/report/figure/cover_figure.hpp"

#include <fmt/format.h>

#include "core/picture/svg_plot.hpp"

namespace cosmo::infer {

namespace svg = core::svg;

namespace {

constexpr double kSize = 360, kLeft = 66, kRight = 344, kTop = 20, kBottom = 298;
constexpr const char* kBlue = "#0072b2";

}  // namespace

std::string cover_figure(const std::vector<double>& credibility, const std::vector<double>& coverage,
                         const std::vector<double>& low, const std::vector<double>& high) {
  const svg::Axis x = svg::linear_axis(0, 1, kLeft, kRight, 5);
  const svg::Axis y = svg::linear_axis(0, 1, kBottom, kTop, 5);
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
      svg::line(kLeft, kBottom, kRight, kTop, svg::kInk) +
      fmt::format("<polyline points=\"{}{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>\n", curve,
                  point(1, 1), kBlue);
  return svg::image(kSize, kSize, "All parameters together: coverage of credible regions", content);
}

}  // namespace cosmo::infer
