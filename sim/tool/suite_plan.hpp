#pragma once
// What the command line of `cosmo-sim generate` asks for.

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
#include "sim/suite/design.hpp"

namespace cosmo::sim {

/// What was asked for.
struct Plan {
  std::string output;
  int simulations;
  std::optional<std::uint64_t> seed;  ///< of all that follows from one; none if the design states each
  core::Slice slice;                  ///< of the universes that this run makes
  int ranks_per_simulation;           ///< as asked for; 0 leaves the choice to choose_layout()
  int grid;                           ///< count voxels a side; 0 if no counts are saved
  bool save_counts;
  bool save_particles;
  core::Cosmology base;
  std::vector<VaryingParameter> varying;
  SimulationConfig numerics;  ///< cosmology, seed and box_size [Mpc/h] differ from universe to universe
  core::Length box;
  core::Json design;  ///< how the universes were chosen, for the id
  std::vector<DesignPoint> universes;

  int universes_to_make() const {
    return static_cast<int>(std::min<std::int64_t>(slice.last, simulations) - slice.first);
  }
  core::GridSpec count_grid() const { return {grid, numerics.box_size}; }
};

void declare_suite(core::Options& options);

/// Throws Error{usage}, Error{config}, Error{io} or Error{format} naming the option, or the file that one
/// names. Whether so many ranks can run it is left to validate().
Plan read_plan(const core::Options& options);

/// All that decides the content of the suite's directory, whichever slice of it a run makes.
core::Request request_of(const Plan& plan);

/// The universes and their files.
core::SimulationManifest suite_of(const Plan& plan);

/// What a rank of `threads` threads allocates if `ranks` of them make a universe together [bytes]. Throws as
/// validate().
std::uint64_t memory_of(const Plan& plan, int ranks, int threads);

/// What so many universes of the plan take [bytes].
std::uint64_t disk_of(const Plan& plan, std::size_t universes);

}  // namespace cosmo::sim
