#pragma once
// The main loop of `cosmo-sim generate`: universes are made, or linked, in units that share their files.

#include <cstdint>
#include <span>
#include <vector>

#include "core/output/output_directory.hpp"
#include "core/run/tool.hpp"
#include "core/universe/simulation_manifest.hpp"
#include "sim/tool/suite_plan.hpp"

namespace cosmo::sim {

/// Universes that share their files: those of a pack, or one alone.
using Unit = std::span<const core::SimulationRecord>;

/// The number of their universes.
std::int64_t count(std::span<const Unit> units);
/// The sum of cost_of() each universe.
double cost_of(const Plan& plan, std::span<const Unit> units);
/// Disk space for them [bytes].
std::uint64_t disk_of(const Plan& plan, std::span<const Unit> units);

/// What a suite still lacks.
struct Missing {
  std::vector<Unit> to_link, to_make;  ///< in the slice; views of the suite
  std::int64_t others = 0;             ///< universes of other slices

  std::vector<Unit> own() const;
};
Missing missing_in(const core::SimulationManifest& suite, const core::Manifest& there,
                   const core::Slice& slice, const Growth& growth);

/// Lets groups of ranks make units in rounds of one per group; the most expensive come first, so that those of a round take about
/// as long. Collective.
void make_units(const core::Invocation& run, core::OutputDirectory& output, const Plan& plan,
                std::vector<Unit> units, int ranks_per_simulation);

/// Links the units that the smaller suite has. Collective.
void link_units(const core::Invocation& run, core::OutputDirectory& output, const Growth& growth,
                std::span<const Unit> units);

}  // namespace cosmo::sim
