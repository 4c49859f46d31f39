#pragma once
// The plan of a suite, read from the command line of `cosmo-sim generate`.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/output/output_directory.hpp"
#include "core/run/options.hpp"
#include "core/universe/length.hpp"
#include "core/universe/simulation_manifest.hpp"
#include "sim/simulation.hpp"

namespace cosmo::sim {

/// What the command line asks for.
struct Plan {
  std::string output;
  int simulations;
  std::optional<std::uint64_t> seed;  ///< the suite's seed; none if the design states each universe's
  core::Slice slice;                  ///< universes that this run makes
  int ranks_per_simulation;           ///< as requested; 0 leaves the choice to choose_layout()
  int grid;                           ///< count voxels per side; 0 if no counts are saved
  bool save_counts;
  bool save_particles;
  core::Cosmology base;
  core::ParameterSpace varying;
  SimulationConfig numerics;  ///< universe and box_size [Mpc/h] are replaced for each universe
  core::Length box;
  core::Json design;  ///< how the universes were chosen, for the id
  std::vector<core::Universe> universes;

  int universes_to_make() const {
    return static_cast<int>(std::min<std::int64_t>(slice.last, simulations) - slice.first);
  }
  core::GridSpec count_grid() const { return {grid, numerics.box_size}; }
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

/// Disk space for this number of universes of the plan [bytes].
std::uint64_t disk_of(const Plan& plan, std::size_t universes);

}  // namespace cosmo::sim
