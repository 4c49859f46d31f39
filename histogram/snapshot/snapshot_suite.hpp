#pragma once
// Counts of a suite of universes from existing snapshots, in the layout that cosmo-sim gives a suite.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/log.hpp"
#include "core/output/output_directory.hpp"
#include "core/parallel/communicator.hpp"
#include "core/universe/simulation_manifest.hpp"
#include "histogram/particles/gadget_snapshot.hpp"
#include "histogram/snapshot/snapshot_counts.hpp"
#include "histogram/snapshot/snapshot_table.hpp"

namespace cosmo::histogram {

/// What the files of a snapshot state.
struct SnapshotFacts {
  std::uint64_t particles;           ///< the sum of the counts
  std::vector<std::string> remarks;  ///< what is doubtful in its headers
  /// The density of all its particles in units of the critical one; nothing if it is not stated.
  std::optional<double> density;
  std::string others;  ///< types that are not counted
  double box_size;     ///< [Mpc/h]
  double units_per_mpc_h;
  double redshift;
  std::uint64_t float_bytes;
  std::optional<std::uint64_t> seed;
  std::map<std::string, double> parameters;
  std::vector<std::string> files;
  core::LineOfSight line_of_sight;
  core::WatchedFiles watched = {};  ///< the files as they were
};

/// A snapshot and the counts file that is made from it.
struct PlannedCounts {
  std::filesystem::path snapshot;
  std::string path;  ///< path of the counts in the output
  CountFileHeader header;
  std::size_t float_bytes;     ///< bytes per coordinate
  core::WatchedFiles watched;  ///< the snapshot's files as they were when it was planned
};

/// The plan of a suite, before anything is made.
struct SnapshotSuite {
  core::SimulationManifest manifest;  ///< everything but `base`
  std::vector<PlannedCounts> counts;  ///< one for each line of the table
  std::vector<std::string> files;     ///< files of all snapshots
  std::vector<std::string> unstated;  ///< parameters not stated for some universe
  std::vector<std::string> assumed;   ///< those of them that a warning names
  std::string others;                 ///< types of the first snapshot that are not counted
  std::vector<std::string> remarks;   ///< what is doubtful, sentences that begin with a place in the table
  std::string sha256;                 ///< SHA-256 of all data on the universes and their snapshots
};

/// SHA-256 of each file, in hexadecimal. The ranks share the files. Collective.
std::vector<std::string> sha256_of_files(const core::Communicator& comm, const core::Log& log,
                                         const std::vector<std::string>& files);

/// Opens every snapshot of the table. The ranks share them. Collective. Throws as GadgetSnapshot.
std::vector<SnapshotFacts> survey_snapshots(const core::Communicator& comm, const core::Log& log,
                                            const std::vector<SnapshotRow>& table,
                                            const GadgetReading& reading);

/// The suite of these snapshots; `stated` applies to all of them. A parameter that differs between universes
/// is a target, ranging from its smallest to its largest value. Throws Error{config} unless boxes, numbers of
/// particles and everything stated for a universe agree, and seeds differ.
SnapshotSuite plan_snapshot_suite(const std::vector<SnapshotRow>& table,
                                  const std::vector<SnapshotFacts>& facts, const StatedParameters& stated,
                                  int grid);

/// Writes the counts that `output` does not hold yet, each by one rank. Collective.
void count_suite(const core::Communicator& comm, const core::Log& log, core::OutputDirectory& output,
                 const SnapshotSuite& suite, const GadgetReading& reading);

}  // namespace cosmo::histogram
