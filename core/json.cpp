#include "core/json.hpp"

#include <fstream>

#include "core/error.hpp"

namespace cosmo::core {

Json read_json(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::error_code error;
  ensure(file.good() && !std::filesystem::is_directory(path, error), Fault::io,
         "{} cannot be opened: check that it exists and is a readable file.", path.string());
  try {
    return Json::parse(file);
  } catch (const Json::exception&) {
    fail(Fault::format, "{} is not valid JSON: restore it, or write it again with the tool that made it.",
         path.string());
  }
}

void reading_json(const std::string& source, const std::function<void()>& read) {
  try {
    read();
  } catch (const Json::exception& error) {
    fail(Fault::format,
         "{} lacks a value or has one of another type ({}): write it again with the tool that made it.",
         source, error.what());
  }
}

}  // namespace cosmo::core
