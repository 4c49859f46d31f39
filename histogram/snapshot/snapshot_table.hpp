#pragma once
// A CSV table of snapshots, one per line.
//
//   snapshot, omega_m, sigma8, seed     paths are relative to the table
//   run0/snapdir_004, 0.31, 0.82, 1
//
// snapshot is the only required column. Others: simulation (number of the universe: the same for snapshots of
// one universe at several redshifts; without this column each line is a universe), seed (of the initial
// conditions, below 2^53), redshift and box (compared with the snapshot's), and parameters of core::kCosmologyParameters or their words elsewhere (Om, Omega_m, ns, s8). Lines
// that begin with # are comments.

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace cosmo::histogram {

struct SnapshotRow {
  std::filesystem::path snapshot;
  std::uint32_t simulation = 0;
  std::optional<std::uint64_t> seed;
  std::map<std::string, double> parameters;
  std::optional<double> redshift, box_size;  ///< the latter in Mpc/h, or in the snapshot's unit
  std::string place;                         ///< "FILE line 3", to begin a message
};

struct SnapshotTable {
  std::vector<SnapshotRow> rows;
  std::vector<std::string> unused;  ///< columns that are not known, and not like a known one
};

/// Whether it is a table rather than a snapshot: NAME.csv, or a text whose name is not that of an HDF5 file.
bool is_snapshot_table(const std::filesystem::path& path);

/// Throws Error{io}, or Error{format} naming file and line.
SnapshotTable read_snapshot_table(const std::filesystem::path& path);

}  // namespace cosmo::histogram
