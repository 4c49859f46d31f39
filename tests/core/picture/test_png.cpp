#include <png.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "core/picture/image_file.hpp"
#include "core/picture/png.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace cosmo::core;

namespace {

/// CIELAB of an sRGB colour, by the definitions and not by the inverse of what the palette uses.
std::array<double, 3> lab_of(const std::array<std::uint8_t, 3>& colour) {
  std::array<double, 3> linear{};
  for (std::size_t i = 0; i < 3; ++i) {
    const double value = colour[i] / 255.0;
    linear[i] = value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
  }
  const double x = 0.4124 * linear[0] + 0.3576 * linear[1] + 0.1805 * linear[2];
  const double y = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  const double z = 0.0193 * linear[0] + 0.1192 * linear[1] + 0.9505 * linear[2];
  const auto f = [](double t) { return t > std::pow(6.0 / 29, 3) ? std::cbrt(t) : t * 841 / 108 + 4.0 / 29; };
  return {116 * f(y) - 16, 500 * (f(x / 0.9505) - f(y)), 200 * (f(y) - f(z / 1.089))};
}

}  // namespace

TEST_CASE("the palette of densities gets lighter in steps that look equal") {
  const Palette palette = density_palette();
  constexpr std::size_t kChord = 5, kStretch = 15;  // more than the rounding to 8 bits
  double shortest = 1e9, longest = 0;
  for (std::size_t first = 0; first + kStretch < palette.size(); first += kStretch) {
    double way = 0;
    for (std::size_t i = first; i < first + kStretch; i += kChord) {
      const auto a = lab_of(palette[i]), b = lab_of(palette[i + kChord]);
      CHECK(b[0] > a[0] + 0.5);
      way += std::hypot(b[0] - a[0], b[1] - a[1], b[2] - a[2]);
    }
    shortest = std::min(shortest, way);
    longest = std::max(longest, way);
  }
  CHECK(longest / shortest < 1.25);
  CHECK(lab_of(palette.front())[0] < 3);
  CHECK(lab_of(palette.back())[0] > 95);
}

TEST_CASE("an image holds the colours of its values") {
  const TemporaryDirectory directory;
  const auto path = directory.path() / "a.png";
  const std::vector<float> values = {-1, 0, 0.5f, 1, 2, std::numeric_limits<float>::quiet_NaN()};
  const Palette palette = density_palette();
  const std::string content = encode_png(3, 2, values, 0, 1, palette);
  publish_image(path, content);

  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  REQUIRE(png_image_begin_read_from_file(&image, path.c_str()));
  CHECK(image.width == 3);
  CHECK(image.height == 2);
  image.format = PNG_FORMAT_RGB;
  std::vector<std::array<std::uint8_t, 3>> pixels(6);
  REQUIRE(png_image_finish_read(&image, nullptr, pixels.data(), 0, nullptr));
  const std::size_t expected[] = {0, 0, 128, 255, 255, 0};
  for (std::size_t i = 0; i < 6; ++i) CHECK(pixels[i] == palette[expected[i]]);

  CHECK(encode_png(3, 2, values, 0, 1, palette) == content);
}

TEST_CASE("an image is known by its first bytes") {
  const TemporaryDirectory directory;
  const auto path = directory.path() / "a.png";
  CHECK_FALSE(is_image(path, kPng));
  CHECK_FALSE(is_image(directory.path(), kPng));
  CHECK_FALSE(is_image("/dev/null", kPng));
  publish_image(path, encode_png(1, 1, std::vector<float>{1}, 0, 1, density_palette()));
  CHECK(is_image(path, kPng));
  std::ofstream(path) << "\x89P";
  CHECK(is_image(path, kPng));  // what a full disk left
  std::ofstream(path) << "PNG";
  CHECK_FALSE(is_image(path, kPng));
}

TEST_CASE("an image that cannot be written is an error with its name") {
  expect_error(Fault::io, "/nowhere/a.svg", [] { publish_image("/nowhere/a.svg", "<svg />"); });
}

TEST_CASE("an image replaces nothing but an image of its format") {
  const TemporaryDirectory directory;
  const auto path = directory.path() / "a.svg";
  publish_image(path, "<svg />");
  CHECK_NOTHROW(check_replaceable(path, kSvg, "--svg"));
  expect_error(Fault::config, "not a PNG image", [&] { check_replaceable(path, kPng, "--png"); });
  CHECK_FALSE(std::filesystem::exists(part_of(path)));
  std::ofstream(part_of(path)) << "notes";
  expect_error(Fault::config, "a.svg.part", [&] { check_replaceable(path, kSvg, "--svg"); });
}
