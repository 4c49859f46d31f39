#pragma once
// Images in files that users name.

#include <filesystem>
#include <string>
#include <string_view>

namespace cosmo::core {

/// A format of images.
struct ImageFormat {
  std::string_view name;   ///< "a PNG image"
  std::string_view start;  ///< first bytes of its files
};
inline constexpr ImageFormat kPng = {"a PNG image", "\x89PNG\r\n\x1a\n"};
inline constexpr ImageFormat kSvg = {"an SVG image", "<svg "};

/// Whether it is a file that begins as images of this format do; an empty file counts as one.
bool is_image(const std::filesystem::path& path, const ImageFormat& format);

/// The path at which an image is written before it gets its final name.
std::filesystem::path part_of(const std::filesystem::path& image);

/// Throws Error{config} naming the option if `image` or part_of(image) exists but is not an image of this
/// format, all that is ever replaced.
void check_replaceable(const std::filesystem::path& image, const ImageFormat& format,
                       std::string_view option);

/// Writes `content` to part_of(image) and renames the file to `image`; leaves no part if that fails. Throws
/// Error{io} naming the file.
void publish_image(const std::filesystem::path& image, const std::string& content);

}  // namespace cosmo::core
