#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>

/// Converts whole numbers from JSON exactly, or throws. The library's own conversion drops fractions, and is
/// undefined for a number that the type cannot hold. Must precede json.hpp, which may use it.
template <class T>
requires(std::integral<T> && !std::same_as<T, bool>) struct nlohmann::adl_serializer<T, void>
    : nlohmann::adl_serializer<T, int> {  // inherits the library's to_json()
  template <class Json>
  static void from_json(const Json& value, T& number) {
    const bool held =
        value.is_number_unsigned()  ? take(*value.template get_ptr<const std::uint64_t*>(), number)
        : value.is_number_integer() ? take(*value.template get_ptr<const std::int64_t*>(), number)
        : value.is_number_float()   ? take(*value.template get_ptr<const double*>(), number)
                                    : false;
    if (!held) throw Json::type_error::create(302, "value is not a whole number that fits", &value);
  }

 private:
  static bool take(std::integral auto whole, T& number) {
    number = static_cast<T>(whole);
    return std::in_range<T>(whole);
  }
  static bool take(double real, T& number) {
    constexpr double kExact = 0x1p53;
    return std::abs(real) <= kExact && std::trunc(real) == real &&
           take(static_cast<std::int64_t>(real), number);
  }
};

#include <nlohmann/json.hpp>

namespace cosmo::core {

using Json = nlohmann::json;  ///< keys sorted, so that dump() is canonical

/// Parses JSON text. Throws Json::exception if it is invalid, has a member twice in one object, or is nested more
/// than a hundred levels deep.
Json parse_json(std::string_view text);

/// The text of a JSON file, of at most 256 MiB. Throws as read_text().
std::string read_json_text(const std::filesystem::path& path);
/// Parses the text of the JSON file `path`. Throws Error{format} naming the file and the place.
Json parse_json_file(const std::string& text, const std::filesystem::path& path);
/// Both.
Json read_json(const std::filesystem::path& path);

/// Runs `read`, which takes values out of JSON that came from `source`. Throws Error{format} naming the
/// source if a key is missing or a value has the wrong type.
void reading_json(const std::string& source, const std::function<void()>& read);

}  // namespace cosmo::core
