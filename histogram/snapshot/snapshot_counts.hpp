#pragma once
// From the particles of a snapshot to a counts file.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/output/output_directory.hpp"
#include "core/parallel/communicator.hpp"
#include "core/run/options.hpp"
#include "core/universe/cosmology.hpp"
#include "histogram/count_file.hpp"
#include "histogram/snapshot/gadget_snapshot.hpp"

namespace cosmo::histogram {

/// The options on how to read a snapshot: --particle-type, --length-unit.
void declare_gadget_reading(core::Options& options);
GadgetReading read_gadget_reading(const core::Options& options);

/// A parameter stated by the user, and its place: "--omega-m", "FILE line 3: omega_m".
struct StatedParameter {
  double value;
  std::string where;
};
using StatedParameters = std::map<std::string, StatedParameter>;

struct SettledCosmology {
  core::Cosmology cosmology;
  std::vector<std::string> assumed;   ///< parameters stated nowhere, except those of dark energy
  std::vector<std::string> unstated;  ///< with those of dark energy
};

/// The universe of a snapshot: parameters from its files, from the user, and otherwise cosmo-sim's defaults.
/// Throws Error{config} if files and user contradict each other or if the universe is not possible.
SettledCosmology settle_cosmology(const StatedParameters& user, const std::map<std::string, double>& files);

/// Memory that a rank allocates to count this number of particles [bytes].
std::uint64_t counting_memory(const core::GridSpec& grid, std::uint64_t particles, std::size_t float_bytes,
                              int ranks, int threads);

/// Counts a snapshot's particles on `cells` cells per side, in its own unit of length: every rank reads a
/// part and gets the planes core::slab_of(cells, rank, ranks). `after_round` is called after each round
/// with their total number. Collective over comm. Throws as GadgetSnapshot::read() and ParticleCounter do.
CountGrid count_particles(const core::Communicator& comm, const GadgetSnapshot& snapshot, int cells,
                          const std::function<void(std::int64_t rounds)>& after_round);

/// The same on header.grid(), published as the file `path` of the output. Returns the file's record on the
/// root, nothing on other ranks. Collective over comm. Throws as count_particles() and write_counts() do.
std::vector<core::FileRecord> count_snapshot(const core::Communicator& comm,
                                             const core::OutputDirectory& output, const std::string& path,
                                             const GadgetSnapshot& snapshot, const CountFileHeader& header,
                                             const std::function<void(std::int64_t rounds)>& after_round);

}  // namespace cosmo::histogram
