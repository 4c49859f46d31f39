#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

namespace cosmo::core {

/// Colours (red, green, blue) in sRGB, from the smallest value to the largest.
using Palette = std::array<std::array<std::uint8_t, 3>, 256>;

/// Black through blue, red and orange to pale yellow, in steps that look equal: each colour has the same
/// CIELAB distance to the next and is darker than it.
Palette density_palette();

/// The bytes of a PNG image of values (height, width), the top row first, in 256 colours: values up to `low`
/// and NaN get the first, values from `high` on the last. Equal values give equal bytes.
std::string encode_png(std::size_t width, std::size_t height, std::span<const float> values, float low,
                       float high, const Palette& palette);

}  // namespace cosmo::core
