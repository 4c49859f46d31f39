#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/format/json.hpp"
#include "core/output/output_directory.hpp"
#include "core/run/options.hpp"
#include "core/universe/facts.hpp"
#include "core/universe/universe.hpp"
#include "sim/suite/design.hpp"

namespace cosmo::sim {

/// Which universes a suite has, and those of them that a run makes.
struct Universes {
  std::vector<core::Universe> list;   ///< twins one after another
  int twins = 1;                      ///< --twins: universes of each seed and parameters
  core::Cosmology base;               ///< what does not vary; of a table, its first row
  core::ParameterSpace varying;       ///< which parameters vary, from where to where
  core::Json design;                  ///< how they were chosen, for the id
  std::optional<std::uint64_t> seed;  ///< the suite's; none if the design states each universe's
  std::uint64_t seed_of_settings = 0;
  std::string grown =
      {};  ///< id of the suite whose universes are the first, if these are not what the design draws
  core::Slice slice;   ///< --select
  int ranks_each = 0;  ///< --ranks-per-simulation; 0 leaves the choice to choose_layout()

  static void declare(core::Options& options);
  /// Throws Error{usage}, Error{config}, Error{io} or Error{format} naming the option or the file of --design.
  static Universes read(const core::Options& options);
  void identify(core::Json& config) const;
  /// Adds what is true of all universes, for core::SimulationManifest.
  void state(core::Facts& facts) const;
  /// "64 universes"
  std::string describe() const;

  /// Where the design places universes (by their numbers in the list) in its dimensions for settings, from 0 on.
  Placement settings() const;

  int size() const { return static_cast<int>(list.size()); }
  /// The number of those in the slice.
  int selected() const;
};

/// The name of a parameter's option: "omega-m" for "omega_m".
std::string option_of(std::string_view parameter);

}  // namespace cosmo::sim
