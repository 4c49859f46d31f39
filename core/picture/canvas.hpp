#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

namespace cosmo::core {

/// An image to draw on. Colours are numbers 0 … 255: those below kShades span density_palette(), then come
/// the inks. What falls outside the image is not drawn. x runs to the right, y down [pixels].
class Canvas {
 public:
  static constexpr int kShades = 240;
  /// Colours that the colour-blind can distinguish too, on white. Source: Okabe and Ito 2008.
  enum Ink : std::uint8_t { white = 240, black, grey, pale, blue, vermilion, green, purple, orange, sky };
  static constexpr std::array<Ink, 6> kCurves = {blue, vermilion, green, purple, orange, sky};

  /// Makes a white image.
  Canvas(int width, int height);

  int width() const { return width_; }
  int height() const { return height_; }
  /// The colour at a fraction 0 … 1 of the palette.
  static std::uint8_t shade(double share);

  void fill(int x, int y, int width, int height, std::uint8_t colour);
  /// Draws a line `width` pixels wide.
  void line(double x0, double y0, double x1, double y1, std::uint8_t colour, int width = 1);
  /// Draws ASCII text with `size` pixels per dot, from its top left corner; other characters are left out.
  void text(int x, int y, std::string_view text, std::uint8_t colour = black, int size = 2);
  static int text_width(std::string_view text, int size = 2);
  static int text_height(int size = 2) { return 7 * size; }

  /// Throws Error{io} naming the file.
  void write_png(const std::filesystem::path& path) const;

 private:
  int width_;
  int height_;
  std::vector<std::uint8_t> pixels_;
};

}  // namespace cosmo::core
