#pragma once
// One tensor of a shard, the input, the target or the velocities of its samples: voxels, and checksums of samples and of their planes.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "core/hdf5/hdf5.hpp"
#include "dataset/quantity/quantity.hpp"

namespace cosmo::dataset {

/// Names of a tensor's data sets.
struct TensorNames {
  const char *voxels, *crc32, *plane_crc32;
};
inline constexpr TensorNames kInputNames = {"x", "crc32", "plane_crc32"};
inline constexpr TensorNames kTargetNames = {"t", "t_crc32", "t_plane_crc32"};
inline constexpr TensorNames kVelocityNames = {"v", "v_crc32", "v_plane_crc32"};

/// Writes a tensor; move-only.
class TensorWriter {
 public:
  TensorWriter(core::hdf5::File& file, const TensorNames& names, Quantity quantity, std::size_t samples,
               bool deflated);

  /// Writes the voxels of sample `row`, the next one. Throws Error{internal} unless T is that of the quantity, float of classes.
  template <class T>
  void append(std::size_t row, std::span<const T> voxels);
  void write_checksums(core::hdf5::File& file) const;

 private:
  void add_checksums(std::span<const std::byte> voxels);

  TensorNames names_;
  Quantity quantity_;
  core::hdf5::Dataset voxels_;
  std::vector<std::uint32_t> crc32_, plane_crc32_;
};

/// A sample's voxels as a shard stores them.
struct StoredVoxels {
  core::hdf5::Chunk chunk;
  std::uint32_t crc32;
};

/// Throws Error{format} naming shard and row unless the checksum of its voxels is the noted one.
void check_voxels(const std::filesystem::path& shard, std::size_t row, std::uint32_t noted,
                  std::uint32_t found);

/// Reads a tensor; move-only. Errors are Error{format} and name the file.
class TensorReader {
 public:
  /// Checks shapes and types against the quantity.
  TensorReader(std::filesystem::path path, const core::hdf5::File& file, const TensorNames& names,
               Quantity quantity);

  /// Reads the checksums, of planes only if the file has them, and compares them with each other.
  void read_checksums(const core::hdf5::File& file, bool has_planes);

  std::size_t size() const { return voxels_.shape().front(); }  ///< number of samples
  std::uint32_t crc32(std::size_t row) const { return crc32_[row]; }
  /// Checksums of a sample's planes along x, channel by channel; none in version 1.
  std::span<const std::uint32_t> plane_crc32(std::size_t row) const;
  /// Reads a sample's voxels and compares the crc32. Throws Error{internal} unless T is that of the quantity, float of classes.
  template <class T>
  void read(std::size_t row, std::span<T> voxels) const;
  /// The same as bytes, as they are stored.
  void read(std::size_t row, std::span<std::byte> voxels) const;
  /// Location of a sample's voxels, for a ChunkReader; nothing if only HDF5 can decode them.
  std::optional<StoredVoxels> stored(std::size_t row) const;

 private:
  core::hdf5::Shape start_of(std::size_t row) const;
  template <class S>
  void read_stored(std::size_t row, std::span<S> voxels) const;

  std::filesystem::path path_;
  TensorNames names_;
  Quantity quantity_;
  core::hdf5::Dataset voxels_;
  std::vector<std::uint32_t> crc32_, plane_crc32_;
};

}  // namespace cosmo::dataset
