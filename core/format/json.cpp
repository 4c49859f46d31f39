#include "core/format/json.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "core/file/input_file.hpp"

namespace cosmo::core {

namespace {

constexpr std::size_t kLongestJson = std::size_t{1} << 28;  ///< enough for a manifest of 400,000 universes
constexpr int kDeepest = 100;  ///< levels of nesting; each costs stack when the values are traversed

/// The depth to which values are nested, from brackets outside of strings. A callback of the parser could
/// count it too, but with one the parser takes time quadratic in an array's length.
int depth_of(std::string_view text) {
  int depth = 0, deepest = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') quoted = !quoted;
    if (quoted) {
      if (text[i] == '\\') ++i;
    } else if (text[i] == '[' || text[i] == '{') {
      deepest = std::max(deepest, ++depth);
    } else if (text[i] == ']' || text[i] == '}') {
      --depth;
    }
  }
  return deepest;
}

}  // namespace

Json parse_json(std::string_view text) {
  if (depth_of(text) > kDeepest) throw Json::out_of_range::create(0, "values are nested too deep", nullptr);
  return Json::parse(text);
}

Json read_json(const std::filesystem::path& path) {
  const std::string text = read_text(path, kLongestJson);
  try {
    return parse_json(text);
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
  } catch (const Error& error) {
    const std::string sentence = error.what();
    if (error.fault() != Fault::format || error.agreed() || sentence.find(source) != std::string::npos) throw;
    fail(Fault::format, "{}: {}", source, sentence);
  }
}

}  // namespace cosmo::core
