#pragma once

#include <string>
#include <string_view>

#include "core/format/json.hpp"

namespace cosmo::core {

enum class LengthUnit { mpc_h, mpc };

/// "Mpc/h" or "Mpc".
std::string_view name_of(LengthUnit unit);

/// A length that all universes of a suite share in one of cosmology's two units. One in Mpc is of another
/// size in Mpc/h wherever h differs.
struct Length {
  double value = 0;
  LengthUnit unit = LengthUnit::mpc_h;

  Length() = default;
  explicit Length(double in_mpc_h) : value(in_mpc_h) {}
  Length(double number, LengthUnit of) : value(number), unit(of) {}

  /// [Mpc/h], in a universe of this h.
  double mpc_h(double h) const { return unit == LengthUnit::mpc ? value * h : value; }
  Length operator/(double divisor) const { return {value / divisor, unit}; }
  bool operator==(const Length&) const = default;
};

/// `name` + "_mpc_h" or "_mpc": how the length is called in JSON and HDF5, so that nobody reads one as the
/// other.
std::string key_of(std::string_view name, LengthUnit unit);
/// Sets json[key_of(name, length.unit)].
void write_length(Json& json, std::string_view name, const Length& length);
/// Throws Json::exception unless there is one of the two keys.
Length read_length(const Json& json, std::string_view name);
/// "512" or "512Mpc/h", "731.43Mpc". Throws Error{usage} naming `what`.
Length parse_length(std::string_view text, std::string_view what);

}  // namespace cosmo::core
