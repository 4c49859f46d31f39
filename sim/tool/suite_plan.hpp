#pragma once
// The plan of a suite, read from the command line of `cosmo-sim generate`.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "core/log.hpp"
#include "core/output/output_directory.hpp"
#include "core/run/options.hpp"
#include "core/universe/simulation_manifest.hpp"
#include "sim/plan/gravity_choices.hpp"
#include "sim/plan/universes.hpp"
#include "sim/product/products.hpp"
#include "sim/simulation.hpp"
#include "sim/tool/growth.hpp"

namespace cosmo::sim {

/// What the command line asks for: sections, each of which declares and reads its own options.
struct Plan {
  Universes universes;
  GravityChoices gravity;
  SimulationConfig config;  ///< what all universes have in common, and the settings of the first
  DrawnGravity drawn;
  Products products;
  Growth growth;

  SimulationConfig config_of(std::size_t universe) const;

  /// One line on everything.
  std::string describe() const;
  /// Warns of what is possible and probably not meant.
  void warn(const core::Log& log) const;
};

void declare_suite(core::Options& options);

/// Throws Error{usage}, Error{config}, Error{io} or Error{format} naming the option or its file. Does not
/// check whether the ranks of the run can make it: validate() does.
Plan read_plan(const core::Options& options);

/// Everything that determines the content of the suite's directory, whichever slice a run makes.
core::Request request_of(const Plan& plan);

/// The universes and their files.
core::SimulationManifest suite_of(const Plan& plan);

/// Memory that a rank with `threads` threads allocates if `ranks` ranks make a universe together [bytes].
/// Throws as validate() does.
std::uint64_t memory_of(const Plan& plan, int ranks, int threads);

/// The time that a universe takes, compared with one of the default --mesh and --steps.
double cost_of(const Plan& plan, const core::SimulationRecord& universe);

/// Disk space for these universes of the plan [bytes].
std::uint64_t disk_of(const Plan& plan, std::span<const core::SimulationRecord> universes);

}  // namespace cosmo::sim
