#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace cosmo::core {

using Json = nlohmann::json;  ///< keys sorted, so that dump() is canonical

/// The JSON text. Throws Json::exception if it is none, or has values in values more than a hundred deep.
Json parse_json(std::string_view text);

/// The JSON text in the file, of 256 MiB at most. Throws Error{io} or Error{format} naming the file.
Json read_json(const std::filesystem::path& path);

/// Runs `read`, which takes values out of JSON that came from `source`; a missing key or a value of
/// another type is an Error{format} naming the source.
void reading_json(const std::string& source, const std::function<void()>& read);

}  // namespace cosmo::core
