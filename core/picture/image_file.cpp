#include "core/picture/image_file.hpp"

#include <fstream>
#include <system_error>

#include "core/error.hpp"
#include "core/file/text_file.hpp"

namespace cosmo::core {

bool is_image(const std::filesystem::path& path, const ImageFormat& format) {
  if (!std::filesystem::is_regular_file(path)) return false;
  std::string start(format.start.size(), '\0');
  std::ifstream in(path, std::ios::binary);
  in.read(start.data(), static_cast<std::streamsize>(start.size()));
  return in.is_open() &&
         format.start.starts_with(std::string_view(start).substr(0, static_cast<std::size_t>(in.gcount())));
}

std::filesystem::path part_of(const std::filesystem::path& image) { return image.string() + ".part"; }

void check_replaceable(const std::filesystem::path& image, const ImageFormat& format,
                       std::string_view option) {
  for (const std::filesystem::path& written : {image, part_of(image)}) {
    std::error_code error;  // usually: the file does not exist yet
    ensure(!std::filesystem::exists(written, error) || is_image(written, format), Fault::config,
           "{} would replace {}, which is not {}: choose another name.", option, written.string(),
           format.name);
  }
}

void publish_image(const std::filesystem::path& image, const std::string& content) {
  const std::filesystem::path part = part_of(image);
  try {
    write_text(part, content);
    std::filesystem::rename(part, image);
  } catch (...) {
    std::error_code error;  // usually: it was never created
    std::filesystem::remove(part, error);
    throw;
  }
}

}  // namespace cosmo::core
