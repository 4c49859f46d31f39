#pragma once
// A universe: what it is, what its files state of it, and how universes of a suite differ.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/format/json.hpp"
#include "core/universe/cosmology.hpp"

namespace cosmo::core {

/// One universe: its initial conditions and its parameters.
struct Universe {
  std::uint64_t seed = 0;  ///< initial conditions; below kSeedLimit so that JSON keeps it exactly
  Cosmology cosmology = {};

  bool operator==(const Universe&) const = default;
};

/// x, y or z: the axis along which positions are in redshift space; empty in real space.
using LineOfSight = std::string;

/// The name of its attributes and JSON members, which only files in redshift space have.
inline constexpr const char* kLineOfSightKey = "redshift_space";

/// Throws Error{format} naming `source` for another axis.
void check_line_of_sight(const LineOfSight& axis, const std::string& source);
/// "real space" or "redshift space along z"
std::string describe_space(const LineOfSight& axis);

/// What the file of a universe's counts or particles at one redshift states besides them.
struct OutputHeader {
  Universe universe = {};
  double box_size = 0;  ///< [Mpc/h]
  double redshift = 0;
  std::uint64_t particles = 0;    ///< in the whole box
  std::string code_version = {};  ///< version of the toolkit that wrote the file; set when reading
  LineOfSight line_of_sight = {};

  double scale_factor() const { return 1 / (1 + redshift); }
  /// All matter of the box divided by the number of particles [1e10 Msun/h].
  double particle_mass() const;
};

/// Throws Error{format} naming the file `path` for a box or a redshift that cannot be, and for parameters
/// that validate(Cosmology) rejects.
void check(const OutputHeader& header, const std::string& path);

/// Whether a parameter may be called so: letters, digits and _, no digit first, 64 at most. Names are in columns and options.
bool is_parameter_name(std::string_view name);

/// The parameters that vary over a suite: the targets of a network.
struct ParameterSpace {
  std::vector<std::string> names;
  std::vector<double> low;
  std::vector<double> high;

  std::size_t size() const { return names.size(); }
  void add(std::string_view name, double lowest, double highest);
};

/// The parameters that differ between these universes, with their smallest and largest values.
ParameterSpace varying_in(std::span<const Universe> universes);

void to_json(Json& json, const ParameterSpace& space);
/// Throws Error{format} unless each parameter has a possible name and both limits.
void from_json(const Json& json, ParameterSpace& space);

}  // namespace cosmo::core
