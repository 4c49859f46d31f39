#include "core/run/directory_list.hpp"

#include <filesystem>
#include <string_view>
#include <system_error>

#include "core/error.hpp"
#include "core/file/text_file.hpp"

namespace cosmo::core {

std::vector<std::string> directory_list(const std::string& value, const std::string& option) {
  std::error_code error;
  if (std::filesystem::is_directory(value, error)) return {value};
  std::vector<std::string> directories;
  for (const std::string_view directory : cells_of(value, ',')) {
    ensure(!directory.empty(), Fault::usage, "Option --{} {} has an empty name: give directories.", option,
           value);
    directories.emplace_back(directory);
  }
  return directories;
}

}  // namespace cosmo::core
