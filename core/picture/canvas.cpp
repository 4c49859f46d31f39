#include "core/picture/canvas.hpp"

#include <algorithm>
#include <cmath>

#include "core/picture/glyphs.hpp"
#include "core/picture/png.hpp"

namespace cosmo::core {

namespace {

constexpr int kAdvance = 6;  // dots from one character to the next

/// The colours of the inks, from Canvas::white on.
constexpr std::array<std::array<std::uint8_t, 3>, 10> kInks = {{{255, 255, 255},
                                                                {0, 0, 0},
                                                                {120, 120, 120},
                                                                {222, 222, 222},
                                                                {0, 114, 178},
                                                                {213, 94, 0},
                                                                {0, 158, 115},
                                                                {204, 121, 167},
                                                                {230, 159, 0},
                                                                {86, 180, 233}}};

Palette canvas_palette() {
  const Palette density = density_palette();
  Palette palette = density;
  for (std::size_t i = 0; i < Canvas::kShades; ++i) palette[i] = density[i * 255 / (Canvas::kShades - 1)];
  std::ranges::copy(kInks, palette.begin() + Canvas::kShades);
  return palette;
}

}  // namespace

Canvas::Canvas(int width, int height)
    : width_(width),
      height_(height),
      pixels_(static_cast<std::size_t>(width) * static_cast<std::size_t>(height), white) {}

std::uint8_t Canvas::shade(double share) {
  return static_cast<std::uint8_t>(std::lround((kShades - 1) * (share > 0 ? std::min(share, 1.0) : 0.0)));
}

void Canvas::fill(int x, int y, int width, int height, std::uint8_t colour) {
  const int left = std::max(0, x), right = std::min(width_, x + width);
  if (left >= right) return;
  for (int row = std::max(0, y); row < std::min(height_, y + height); ++row) {
    std::fill_n(pixels_.begin() + static_cast<std::ptrdiff_t>(row) * width_ + left, right - left, colour);
  }
}

void Canvas::line(double x0, double y0, double x1, double y1, std::uint8_t colour, int width) {
  const int steps = std::max(1, static_cast<int>(std::ceil(std::max(std::abs(x1 - x0), std::abs(y1 - y0)))));
  for (int i = 0; i <= steps; ++i) {
    const double share = static_cast<double>(i) / steps;
    fill(static_cast<int>(std::lround(std::lerp(x0, x1, share))) - (width - 1) / 2,
         static_cast<int>(std::lround(std::lerp(y0, y1, share))) - (width - 1) / 2, width, width, colour);
  }
}

void Canvas::text(int x, int y, std::string_view text, std::uint8_t colour, int size) {
  for (const char letter : text) {
    const int number = letter - kFirstGlyph;
    if (number < 0 || number >= static_cast<int>(kGlyphs.size())) continue;
    const Glyph& glyph = kGlyphs[static_cast<std::size_t>(number)];
    for (int column = 0; column < static_cast<int>(glyph.size()); ++column) {
      for (int row = 0; row < 8; ++row) {
        const bool dot = (glyph[static_cast<std::size_t>(column)] >> row) % 2 == 1;
        if (dot) fill(x + column * size, y + row * size, size, size, colour);
      }
    }
    x += kAdvance * size;
  }
}

int Canvas::text_width(std::string_view text, int size) {
  return std::max(0, static_cast<int>(text.size()) * kAdvance - 1) * size;
}

void Canvas::write_png(const std::filesystem::path& path) const {
  const std::vector<float> values(pixels_.begin(), pixels_.end());
  core::write_png(path, static_cast<std::size_t>(width_), static_cast<std::size_t>(height_), values, 0, 255,
                  canvas_palette());
}

}  // namespace cosmo::core
