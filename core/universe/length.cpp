#include "core/universe/length.hpp"

#include "core/error.hpp"
#include "core/run/options.hpp"

namespace cosmo::core {

std::string_view name_of(LengthUnit unit) { return unit == LengthUnit::mpc ? "Mpc" : "Mpc/h"; }

std::string key_of(std::string_view name, LengthUnit unit) {
  return std::string(name) + (unit == LengthUnit::mpc ? "_mpc" : "_mpc_h");
}

void write_length(Json& json, std::string_view name, const Length& length) {
  json[key_of(name, length.unit)] = length.value;
}

Length read_length(const Json& json, std::string_view name) {
  const std::string in_mpc = key_of(name, LengthUnit::mpc);
  if (json.contains(in_mpc)) return {json.at(in_mpc).get<double>(), LengthUnit::mpc};
  return {json.at(key_of(name, LengthUnit::mpc_h)).get<double>(), LengthUnit::mpc_h};
}

Length parse_length(std::string_view text, std::string_view what) {
  for (const LengthUnit unit : {LengthUnit::mpc_h, LengthUnit::mpc}) {
    const std::string_view suffix = name_of(unit);
    if (text.ends_with(suffix))
      return {parse_number(text.substr(0, text.size() - suffix.size()), what, text), unit};
  }
  return {parse_number(text, what, text), LengthUnit::mpc_h};
}

Length parse_box_size(std::string_view text, std::string_view what) {
  constexpr double kLeast = 1, kMost = 1e6;
  const Length length = parse_length(text, what);
  ensure(length.value >= kLeast && length.value <= kMost, Fault::config,
         "{} is {}: choose a value between {:g} and {:g}.", what, text, kLeast, kMost);
  return length;
}

}  // namespace cosmo::core
