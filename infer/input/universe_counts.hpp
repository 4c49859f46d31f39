#pragma once
// The counts, or the fields, of one universe, in whatever form a user has them, on the voxels that a model reads.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "core/buffer.hpp"
#include "core/log.hpp"
#include "core/output/manifest.hpp"
#include "core/universe/facts.hpp"
#include "core/universe/length.hpp"
#include "dataset/exchange/npy_samples.hpp"
#include "histogram/count_file.hpp"
#include "histogram/particles/gadget_snapshot.hpp"
#include "histogram/snapshot/snapshot_counts.hpp"
#include "histogram/subvolumes.hpp"
#include "nn/model/model_manifest.hpp"

namespace cosmo::infer {

/// Where a universe is, and what its file does not state.
struct UniverseSource {
  /// For counts, a counts file, or a directory with one for each redshift of the model (of a universe, or
  /// from cosmo-prep histogram). For particles, a snapshot in Gadget's HDF5 layout or binary formats: its file, one of its files, or
  /// their directory. For counts or a field, an .npy file of one universe or of many. For counts, a pack.
  std::filesystem::path path;
  std::optional<core::Length> box = {};   ///< side of the box of a universe in an .npy file
  histogram::GadgetReading reading = {};  ///< how to read snapshots
  std::size_t element = 0;                ///< number of the universe in an .npy file, or its row in a pack
  histogram::OpenPacks* packs = nullptr;  ///< for a row of a pack: they open it, and outlive this
  /// For a universe of a suite whose manifest has been read: the suite's directory, and its records of the universe's
  /// counts, one for each redshift of the model.
  std::filesystem::path suite = {};
  std::vector<core::FileRecord> records = {};
};

/// A universe cut into samples of a model's size; move-only.
class UniverseCounts {
 public:
  /// One channel (n, n, n): counts in an open file, whose grid may be finer, or in memory, or a field.
  using Channel = std::variant<histogram::CountFile, core::Buffer<std::uint16_t>, core::Buffer<float>>;

  /// Channels of one kind, of `cells` voxels per side, a multiple of `size`, that of the samples.
  UniverseCounts(std::vector<Channel> channels, int cells, int size);

  dataset::VoxelKind kind() const;
  int subvolumes() const { return regions_.count(); }
  /// Sample n, (C, size, size, size), as its kind() asks.
  void read(int n, std::span<std::uint16_t> counts) const;
  void read(int n, std::span<float> field) const;

 private:
  std::vector<Channel> channels_;
  int cells_;
  histogram::Subvolumes regions_;
};

/// A universe of an .npy file.
struct NpyUniverse {
  dataset::NpySamples file;
  std::size_t element;
};

/// A universe that fits the model, not read yet; move-only.
struct OpenUniverse {
  std::variant<std::vector<histogram::CountFile>, histogram::WeighedSnapshot, NpyUniverse> content;
  std::string path;
  int cells;                          ///< the model's voxels per side
  int factor;                         ///< cells of the file per side of such a voxel
  std::optional<std::uint64_t> seed;  ///< seed of the initial conditions, if known
  core::Facts facts = {};             ///< what is known of it

  /// Bytes that read_universe() allocates with `threads` threads.
  std::uint64_t memory_bytes(const nn::ModelManifest& model, int threads) const;
};

/// Whether the content of files that a manifest lists is compared with it: HDF5 may crash on a damaged file.
enum class Compare { content, nothing };

/// Opens a universe, on this rank alone. Throws Error{config} if voxels, redshifts or sizes do not fit the
/// model, Error{io} or Error{format} if it cannot be read.
OpenUniverse open_universe(const nn::ModelManifest& model, const UniverseSource& source,
                           Compare compare = Compare::content);

/// What an HDF5 file holds. Throws Error{config} for a shard of a dataset.
enum class Held { particles, counts, pack };
Held held_in(const std::filesystem::path& path);

/// The counts files of the model's redshifts in a directory; none if all are missing. Throws Error{config}
/// if another is.
std::vector<std::filesystem::path> counts_in(const std::filesystem::path& directory,
                                             const nn::ModelManifest& model);

/// Reads its voxels, or makes those of a snapshot. Throws Error{format} or Error{io} if it cannot be read.
UniverseCounts read_universe(const core::Log& log, const nn::ModelManifest& model, OpenUniverse universe);

}  // namespace cosmo::infer
