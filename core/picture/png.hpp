#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>

namespace cosmo::core {

/// Colours (red, green, blue) in sRGB, for the smallest value to the largest.
using Palette = std::array<std::array<std::uint8_t, 3>, 256>;

/// Black through blue, red and orange to pale yellow, in steps that look equal: the same distance in CIELAB
/// from each colour to the next, and lighter from each to the next.
Palette density_palette();

/// Whether it is a file and begins as a PNG image does; an empty one leaves that open.
bool is_png(const std::filesystem::path& path);

/// Where an image is made before it gets its name.
std::filesystem::path part_of(const std::filesystem::path& image);

/// Throws Error{config} if `image` or part_of() it is there and no PNG image: --png replaces nothing else.
void check_replaceable(const std::filesystem::path& image);

/// Lets write(part_of(image)) make the image and gives it its name; leaves no part if that fails.
void publish_png(const std::filesystem::path& image,
                 const std::function<void(const std::filesystem::path& part)>& write);

/// The bytes of an image of values (height, width), the top row first, in 256 colours: `low` and what lies
/// below, or is not a number, gets the first, `high` and what lies above the last. Equal values give equal
/// bytes.
std::string encode_png(std::size_t width, std::size_t height, std::span<const float> values, float low,
                       float high, const Palette& palette);

/// Writes that image to a file. Throws Error{io} naming the file if it cannot be written.
void write_png(const std::filesystem::path& path, std::size_t width, std::size_t height,
               std::span<const float> values, float low, float high, const Palette& palette);

}  // namespace cosmo::core
