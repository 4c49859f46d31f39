#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>

namespace cosmo::core {

/// Colours (red, green, blue) in sRGB, from the smallest value to the largest.
using Palette = std::array<std::array<std::uint8_t, 3>, 256>;

/// Black through blue, red and orange to pale yellow, in steps that look equal: each colour has the same
/// CIELAB distance to the next and is darker than it.
Palette density_palette();

/// Whether it is a file that begins as a PNG image does; an empty file counts as one.
bool is_png(const std::filesystem::path& path);

/// The path at which an image is written before it gets its final name.
std::filesystem::path part_of(const std::filesystem::path& image);

/// Throws Error{config} if `image` or part_of(image) exists but is not a PNG image, the only kind replaced.
void check_replaceable(const std::filesystem::path& image);

/// Calls write(part_of(image)) and renames the file to `image`; leaves no part if that fails.
void publish_png(const std::filesystem::path& image,
                 const std::function<void(const std::filesystem::path& part)>& write);

/// The bytes of a PNG image of values (height, width), the top row first, in 256 colours: values up to `low`
/// and NaN get the first, values from `high` on the last. Equal values give equal bytes.
std::string encode_png(std::size_t width, std::size_t height, std::span<const float> values, float low,
                       float high, const Palette& palette);

/// Writes that image to a file. Throws Error{io} naming the file if it cannot be written.
void write_png(const std::filesystem::path& path, std::size_t width, std::size_t height,
               std::span<const float> values, float low, float high, const Palette& palette);

}  // namespace cosmo::core
