#pragma once
// SVG figures written as text: parts that all plots share. Coordinates are in pixels, y down.

#include <string>
#include <vector>

namespace cosmo::core::svg {

inline constexpr const char* kInk = "#222222";
inline constexpr const char* kGrid = "#dddddd";

/// Plain text escaped for content or quoted attributes of XML and HTML.
std::string escaped(const std::string& plain);

/// A linear or logarithmic scale and its marks.
struct Axis {
  double low, high;  ///< values at its ends
  double from, to;   ///< [px]
  bool logarithmic;
  std::vector<double> marks;

  double place(double value) const;
};

/// The smallest of 1, 2 or 5 times a power of ten that is at least `least`, which is positive.
double round_step(double least);

/// A linear axis between exactly these values, with at most about `most` marks at round numbers.
Axis linear_axis(double low, double high, double from, double to, int most);

/// A logarithmic axis between exactly these values, which are positive, with marks at powers of ten and, if
/// there are less than three, at 2 and 5 times them.
Axis logarithmic_axis(double low, double high, double from, double to);

/// `content` is markup, and so is `more`: further attributes, beginning with a space.
std::string text(double x, double y, const char* anchor, const std::string& content,
                 const std::string& more = "");
std::string line(double x1, double y1, double x2, double y2, const std::string& colour,
                 const std::string& more = "");
std::string circle(double x, double y, double radius, const std::string& more = "");

/// A PNG image (its bytes) in this rectangle, each pixel a sharp square.
std::string picture(double x, double y, double width, double height, const std::string& png);

/// Grid lines at the marks of y, ticks at those of x, and the numbers and titles (markup) of both.
std::string frame(const Axis& x, const Axis& y, const std::string& x_title, const std::string& y_title);

/// The image of this size and content on white; `title` is plain text.
std::string image(double width, double height, const std::string& title, const std::string& content);

}  // namespace cosmo::core::svg
