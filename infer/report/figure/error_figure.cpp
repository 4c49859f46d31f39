#include "infer/report/figure/error_figure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/picture/svg_plot.hpp"
#include "infer/report/figure/square_axes.hpp"

namespace cosmo::infer {

namespace svg = core::svg;

namespace {

constexpr double kWidth = 360, kLeft = 16, kRight = 344, kTop = 40, kStep = 46, kFoot = 62;
constexpr const char* kGrey = "#6b6f76";
constexpr const char* kOrange = "#b35900";

/// Keeps a name readable where lines cross it.
constexpr const char* kHalo = R"( paint-order="stroke" stroke="#fff" stroke-width="5")";

/// A method's name, and below it the point with its standard error.
std::string draw(const MethodError& error, const svg::Axis& x, double y, const char* colour) {
  std::string markup = svg::text(kLeft + 6, y - 14, "start", svg::escaped(error.title),
                                 fmt::format(" fill=\"{}\"{}", colour, kHalo));
  if (error.standard_error)
    markup += svg::line(x.place(std::max(0.0, error.value - *error.standard_error)), y,
                        x.place(error.value + *error.standard_error), y, colour, " stroke-width=\"2\"");
  return markup + svg::circle(x.place(error.value), y, 5, fmt::format(" fill=\"{}\"", colour));
}

}  // namespace

std::string error_figure(const std::string& name, const std::string& symbol,
                         const std::vector<MethodError>& errors, std::optional<double> forecast) {
  double largest = forecast.value_or(0);
  for (const MethodError& error : errors)
    largest = std::max(largest, error.value + error.standard_error.value_or(0));
  const double bottom = kTop + kStep * static_cast<double>(errors.size());
  const svg::Axis x = svg::linear_axis(0, largest > 0 ? 1.06 * largest : 1, kLeft, kRight, 5);
  std::string content = svg::text(kLeft, 24, "start", symbol, " font-size=\"17\" font-weight=\"bold\"");
  for (const double mark : x.marks) {
    content += svg::line(x.place(mark), kTop, x.place(mark), bottom, svg::kGrid);
    content += svg::text(x.place(mark), bottom + 18, "middle", fmt::format("{:.6g}", mark));
  }
  content += svg::line(kLeft, bottom, kRight, bottom, svg::kInk);
  content +=
      svg::text((kLeft + kRight) / 2, bottom + 42, "middle", "rms error / standard deviation of the labels");
  if (forecast) {
    const double at = x.place(*forecast);
    const bool right = at > (kLeft + kRight) / 2;
    content += svg::line(at, kTop - 6, at, bottom, kOrange, " stroke-width=\"2\" stroke-dasharray=\"6 4\"");
    content += svg::text(right ? at - 5 : std::max(at + 5, kLeft + 60), kTop - 10, right ? "end" : "start",
                         "P(k) forecast", fmt::format(" fill=\"{}\"", kOrange));
  }
  for (std::size_t m = 0; m < errors.size(); ++m) {
    content += draw(errors[m], x, kTop + kStep * (static_cast<double>(m) + 0.74), m == 0 ? kBlue : kGrey);
  }
  return svg::image(kWidth, bottom + kFoot - 10, name + ": errors of the methods", content);
}

}  // namespace cosmo::infer
