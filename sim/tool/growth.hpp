#pragma once
// --grow: a larger suite that begins with the universes of a finished one.

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "core/output/output_directory.hpp"
#include "core/parallel/communicator.hpp"
#include "core/run/options.hpp"
#include "core/universe/simulation_manifest.hpp"

namespace cosmo::sim {

struct Plan;

/// A finished suite whose universes are the first of a plan's.
struct Growth {
  std::filesystem::path directory = {};
  core::SimulationManifest suite = {};
  std::string widened = {};  ///< the ranges that are wider than its own, for people; empty if none is

  /// Its universes whose files can be linked: all, or those of its whole packs.
  std::size_t linked() const;
  bool has(const core::SimulationRecord& universe) const { return universe.index < linked(); }
};

void declare_growth(core::Options& options);

/// Gives the plan the universes of the suite in --grow. Throws Error{config} naming what differs between the suite and the
/// plan besides numbers of universes and wider ranges, and as load_simulation_manifest() does.
Growth read_growth(const core::Options& options, Plan& plan);

/// Publishes the files of a universe that the suite has, as OutputDirectory::link() does. Called by one rank.
std::vector<core::FileRecord> link_files(const Growth& growth, const core::OutputDirectory& output,
                                         const core::SimulationRecord& universe);

}  // namespace cosmo::sim
