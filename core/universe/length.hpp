#pragma once

#include <string>
#include <string_view>

#include "core/format/json.hpp"

namespace cosmo::core {

enum class LengthUnit { mpc_h, mpc };

/// "Mpc/h" or "Mpc".
std::string_view name_of(LengthUnit unit);

/// A length that all universes of a suite share, in one of cosmology's two units. A length in Mpc has a
/// different value in Mpc/h in each universe with a different h.
struct Length {
  double value = 0;
  LengthUnit unit = LengthUnit::mpc_h;

  Length() = default;
  explicit Length(double in_mpc_h) : value(in_mpc_h) {}
  Length(double number, LengthUnit of) : value(number), unit(of) {}

  /// The value in Mpc/h, in a universe with this h.
  double mpc_h(double h) const { return unit == LengthUnit::mpc ? value * h : value; }
  Length operator/(double divisor) const { return {value / divisor, unit}; }
  bool operator==(const Length&) const = default;
};

/// `name` + "_mpc_h" or "_mpc": the length's name in JSON and HDF5, so that one unit is not taken for the
/// other.
std::string key_of(std::string_view name, LengthUnit unit);
/// Sets json[key_of(name, length.unit)].
void write_length(Json& json, std::string_view name, const Length& length);
/// Throws Json::exception unless one of the two keys is present.
Length read_length(const Json& json, std::string_view name);
/// Parses "512" or "512Mpc/h", "731.43Mpc". Throws Error{usage} naming `what`.
Length parse_length(std::string_view text, std::string_view what);
/// The same for the side of a box: throws Error{config} unless it is 1 to 1,000,000 of its unit.
Length parse_box_size(std::string_view text, std::string_view what);

}  // namespace cosmo::core
