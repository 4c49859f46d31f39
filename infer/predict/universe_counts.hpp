#pragma once
// The counts of one universe, in whatever form a user has them, on the voxels that a model reads.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "core/buffer.hpp"
#include "core/log.hpp"
#include "core/universe/facts.hpp"
#include "core/universe/length.hpp"
#include "dataset/exchange/exchange_format.hpp"
#include "histogram/count_file.hpp"
#include "histogram/snapshot/gadget_snapshot.hpp"
#include "histogram/subvolumes.hpp"
#include "nn/model/model_manifest.hpp"

namespace cosmo::infer {

/// Where a universe is, and what its file does not state.
struct UniverseSource {
  /// For counts, a counts file, or a directory with one for each redshift of the model (of a universe, or
  /// from cosmo-prep histogram), or an .npy file (n, n, n) or (C, n, n, n). For particles, a snapshot in
  /// Gadget's HDF5 layout: its file, one of its files, or their directory.
  std::filesystem::path path;
  std::optional<core::Length> box = {};   ///< side of an .npy file's box
  histogram::GadgetReading reading = {};  ///< how to read snapshots
};

/// A universe cut into samples of a model's size; move-only.
class UniverseCounts {
 public:
  /// One channel: counts (n, n, n) in memory, or in an open file, whose grid may be finer.
  using Channel = std::variant<histogram::CountFile, core::Buffer<std::uint16_t>>;

  /// Channels of `cells` voxels per side, a multiple of `size`, that of the samples.
  UniverseCounts(std::vector<Channel> channels, int cells, int size);

  int subvolumes() const { return regions_.count(); }
  /// Sample n, (C, size, size, size).
  void read(int n, std::span<std::uint16_t> counts) const;

 private:
  std::vector<Channel> channels_;
  int cells_;
  histogram::Subvolumes regions_;
};

/// A universe that fits the model, not read yet; move-only.
struct OpenUniverse {
  std::variant<std::vector<histogram::CountFile>, histogram::GadgetSnapshot, dataset::ForeignSample> content;
  std::string path;
  int cells;                          ///< the model's voxels per side
  int factor;                         ///< cells of the file per side of such a voxel
  std::optional<std::uint64_t> seed;  ///< seed of the initial conditions, if known
  core::Facts facts = {};             ///< what is known of it

  /// Bytes that read_universe() allocates with `threads` threads.
  std::uint64_t memory_bytes(const nn::ModelManifest& model, int threads) const;
};

/// Opens a universe, on this rank alone. Throws Error{config} if voxels, redshifts or sizes do not fit the
/// model, Error{io} or Error{format} if it cannot be read.
OpenUniverse open_universe(const nn::ModelManifest& model, const UniverseSource& source);

/// Reads its counts, or makes those of a snapshot. Throws Error{format} or Error{io} if it cannot be read.
UniverseCounts read_universe(const core::Log& log, const nn::ModelManifest& model, OpenUniverse universe);

}  // namespace cosmo::infer
