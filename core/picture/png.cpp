#include "core/picture/png.hpp"

#include <png.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/error.hpp"

namespace cosmo::core {

namespace {

using Triple = std::array<double, 3>;

/// The sRGB colour of CIELAB (L*, a*, b*) with white point D65. Source: CIE 15; IEC 61966-2-1.
std::array<std::uint8_t, 3> srgb_of(const Triple& lab) {
  constexpr Triple kWhite = {0.9505, 1.0, 1.089};
  const double lightness = (lab[0] + 16) / 116;
  Triple xyz = {lightness + lab[1] / 500, lightness, lightness - lab[2] / 200};
  for (std::size_t i = 0; i < 3; ++i) {
    const double f = xyz[i];
    xyz[i] = kWhite[i] * (f > 6.0 / 29 ? f * f * f : 3 * 36.0 / 841 * (f - 4.0 / 29));
  }
  constexpr std::array<Triple, 3> kToRed = {
      {{3.2406, -1.5372, -0.4986}, {-0.9689, 1.8758, 0.0415}, {0.0557, -0.2040, 1.0570}}};
  std::array<std::uint8_t, 3> colour{};
  for (std::size_t i = 0; i < 3; ++i) {
    const double linear = kToRed[i][0] * xyz[0] + kToRed[i][1] * xyz[1] + kToRed[i][2] * xyz[2];
    const double encoded = linear <= 0.0031308 ? 12.92 * linear : 1.055 * std::pow(linear, 1 / 2.4) - 0.055;
    colour[i] = static_cast<std::uint8_t>(std::lround(255 * std::clamp(encoded, 0.0, 1.0)));
  }
  return colour;
}

double distance(const Triple& a, const Triple& b) {
  return std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
}

}  // namespace

Palette density_palette() {
  // (L*, a*, b*), all within sRGB.
  constexpr std::array<Triple, 6> kAnchors = {
      {{0, 0, 0}, {20, 22, -34}, {40, 48, -16}, {60, 44, 28}, {79, 10, 52}, {97, -6, 20}}};
  double length = 0;
  for (std::size_t i = 1; i < kAnchors.size(); ++i) length += distance(kAnchors[i - 1], kAnchors[i]);
  Palette palette;
  std::size_t segment = 1;
  double passed = 0;  // from the first anchor to the segment's start
  for (std::size_t i = 0; i < palette.size(); ++i) {
    const double at = length * static_cast<double>(i) / static_cast<double>(palette.size() - 1);
    double span = distance(kAnchors[segment - 1], kAnchors[segment]);
    while (at > passed + span && segment + 1 < kAnchors.size()) {
      passed += span;
      ++segment;
      span = distance(kAnchors[segment - 1], kAnchors[segment]);
    }
    Triple lab;
    for (std::size_t c = 0; c < 3; ++c)
      lab[c] = std::lerp(kAnchors[segment - 1][c], kAnchors[segment][c], (at - passed) / span);
    palette[i] = srgb_of(lab);
  }
  return palette;
}

std::string encode_png(std::size_t width, std::size_t height, std::span<const float> values, float low,
                       float high, const Palette& palette) {
  constexpr std::size_t kLargest = 1 << 15;
  ensure(
      values.size() == width * height && width > 0 && height > 0 && width <= kLargest && height <= kLargest,
      Fault::internal, "{} values do not fit an image of {} x {} pixels.", values.size(), width, height);
  std::vector<std::uint8_t> pixels(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float share = high > low ? (values[i] - low) / (high - low) : 0;
    pixels[i] = share > 0 ? static_cast<std::uint8_t>(std::lround(255 * std::min(share, 1.0f))) : 0;
  }
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width);
  image.height = static_cast<png_uint_32>(height);
  image.format = PNG_FORMAT_RGB_COLORMAP;
  image.colormap_entries = static_cast<png_uint_32>(palette.size());
  png_alloc_size_t bytes = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::string file(bytes, '\0');
  const bool encoded =
      png_image_write_to_memory(&image, file.data(), &bytes, 0, pixels.data(), 0, palette.data()) != 0;
  ensure(encoded, Fault::internal, "libpng cannot encode an image: {}.", image.message);
  file.resize(bytes);
  return file;
}

}  // namespace cosmo::core
