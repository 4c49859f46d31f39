#pragma once
// From the particles of a snapshot to a counts file.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/output/output_directory.hpp"
#include "core/parallel/communicator.hpp"
#include "core/run/options.hpp"
#include "core/universe/cosmology.hpp"
#include "histogram/count_file.hpp"
#include "histogram/particles/gadget_snapshot.hpp"
#include "histogram/particles/snapshot_masses.hpp"

namespace cosmo::histogram {

/// The options on how to read a snapshot: --particle-type, --length-unit, --weights, --wrap, --override.
void declare_gadget_reading(core::Options& options);
GadgetReading read_gadget_reading(const core::Options& options);
/// Those that change what a snapshot's counts are, for the request of a stage.
void identify(const GadgetReading& reading, core::Json& config);

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

/// A snapshot with what its counts stand for.
struct WeighedSnapshot {
  GadgetSnapshot snapshot;
  SnapshotMasses masses;
  std::optional<MassUnit> unit = {};  ///< if mass is counted

  /// The sum of the counts.
  std::uint64_t counts() const { return unit ? unit->counts : snapshot.particles(); }
};
/// Opens a snapshot and weighs its particles. Collective. Throws as GadgetSnapshot, survey_masses() and ensure_weighted().
WeighedSnapshot open_snapshot(const core::Communicator& comm, const std::filesystem::path& input,
                              const GadgetReading& reading);

/// Memory that a rank allocates to count this number of particles [bytes]; `weighed`: their mass.
std::uint64_t counting_memory(const core::GridSpec& grid, std::uint64_t particles, std::size_t float_bytes,
                              int ranks, int threads, bool weighed = false);

/// Counts a snapshot's particles, or their mass, on `cells` cells per side, in its own unit of length: every rank reads a
/// part and gets the planes core::slab_of(cells, rank, ranks). `after_round` is called after each round
/// with their total number. Collective over comm. Throws as GadgetSnapshot::read() and ParticleCounter do.
CountGrid count_particles(const core::Communicator& comm, const WeighedSnapshot& weighed, int cells,
                          const std::function<void(std::int64_t rounds)>& after_round);

/// What was seen while counting.
struct CountingResult {
  std::vector<core::FileRecord> records;  ///< the counts', on the root rank; none on others
  GadgetSnapshot::Seen seen;              ///< by all ranks
  double filled = 1;                      ///< filled_share()
};

/// What the ranks have read of a snapshot. Collective.
GadgetSnapshot::Seen seen_of(const core::Communicator& comm, const GadgetSnapshot& snapshot);

/// The same on header.grid(), published as the file `path` of the output. Collective over comm. Throws as count_particles()
/// and write_counts() do.
CountingResult count_snapshot(const core::Communicator& comm, const core::OutputDirectory& output,
                              const std::string& path, const WeighedSnapshot& weighed,
                              const CountFileHeader& header,
                              const std::function<void(std::int64_t rounds)>& after_round);

/// What is doubtful in a snapshot's headers and masses, sentences without a full stop.
std::vector<std::string> remarks_on(const WeighedSnapshot& weighed, const core::Cosmology& cosmology);
/// What is doubtful in its positions.
std::vector<std::string> remarks_on(const CountingResult& result, const GadgetSnapshot& snapshot);

/// Warns of what is doubtful, in sentences without a full stop: the first five, and how many more.
void warn_of(const core::Log& log, const std::vector<std::string>& remarks);
/// The same of one snapshot, whose name begins each sentence.
void warn_of(const core::Log& log, const std::string& snapshot, std::vector<std::string> remarks);

}  // namespace cosmo::histogram
