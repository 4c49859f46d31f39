#include "core/picture/svg_plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "core/format/base64.hpp"

namespace cosmo::core::svg {

std::string escaped(const std::string& plain) {
  std::string markup;
  for (const char c : plain) {
    switch (c) {
      case '&':
        markup += "&amp;";
        break;
      case '<':
        markup += "&lt;";
        break;
      case '>':
        markup += "&gt;";
        break;
      case '"':
        markup += "&quot;";
        break;
      case '\'':
        markup += "&#39;";
        break;
      default:
        markup += c;
    }
  }
  return markup;
}

double Axis::place(double value) const {
  const double share =
      logarithmic ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
  return from + share * (to - from);
}

double round_step(double least) {
  const double power = std::pow(10.0, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= least * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

Axis linear_axis(double low, double high, double from, double to, int most) {
  Axis axis{low, high, from, to, false, {}};
  const double step = round_step((high - low) / most);
  const auto first = static_cast<long>(std::ceil(low / step - 1e-9));
  for (long i = first; static_cast<double>(i) * step <= high + 1e-9 * step; ++i)
    axis.marks.push_back(static_cast<double>(i) * step);
  return axis;
}

Axis logarithmic_axis(double low, double high, double from, double to) {
  Axis axis{low, high, from, to, true, {}};
  const bool few = high < 1e3 * low;
  for (double power = std::pow(10, std::floor(std::log10(low))); power <= high; power *= 10) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double mark = factor * power;
      if ((few || factor == 1) && mark >= low && mark <= high) axis.marks.push_back(mark);
    }
  }
  return axis;
}

std::string text(double x, double y, const char* anchor, const std::string& content,
                 const std::string& more) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y, anchor, more,
                     content);
}

std::string line(double x1, double y1, double x2, double y2, const std::string& colour,
                 const std::string& more) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\"{}/>\n", x1,
                     y1, x2, y2, colour, more);
}

std::string circle(double x, double y, double radius, const std::string& more) {
  return fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\"{}/>\n", x, y, radius, more);
}

std::string picture(double x, double y, double width, double height, const std::string& png) {
  return fmt::format(
      "<image x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" preserveAspectRatio=\"none\" "
      "style=\"image-rendering: pixelated\" href=\"data:image/png;base64,{}\"/>\n",
      x, y, width, height, base64(std::as_bytes(std::span(png))));
}

std::string frame(const Axis& x, const Axis& y, const std::string& x_title, const std::string& y_title) {
  const double left = x.from, right = x.to, bottom = y.from, top = y.to;
  std::string svg;
  for (const double mark : y.marks) {
    svg += line(left, y.place(mark), right, y.place(mark), kGrid);
    svg += text(left - 8, y.place(mark) + 4, "end", fmt::format("{:.6g}", mark));
  }
  for (const double mark : x.marks) {
    svg += line(x.place(mark), bottom, x.place(mark), bottom + 5, kInk);
    svg += text(x.place(mark), bottom + 20, "middle", fmt::format("{:.6g}", mark));
  }
  svg += line(left, bottom, right, bottom, kInk) + line(left, top, left, bottom, kInk);
  svg += text((left + right) / 2, bottom + 42, "middle", x_title);
  if (y_title.empty()) return svg;
  const double middle = (top + bottom) / 2;
  return svg +
         text(18, middle, "middle", y_title, fmt::format(" transform=\"rotate(-90 18 {:.0f})\"", middle));
}

std::string image(double width, double height, const std::string& title, const std::string& content) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
      "font-family=\"Helvetica, Arial, sans-serif\" font-size=\"13\" fill=\"{2}\">\n"
      "<title>{3}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n{4}</svg>\n",
      width, height, kInk, escaped(title), content);
}

}  // namespace cosmo::core::svg
