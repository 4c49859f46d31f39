#pragma once
// What the voxels of a sample hold, and how they are stored.

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "core/hdf5/hdf5.hpp"
#include "core/universe/cosmic_web.hpp"

namespace cosmo::dataset {

/// What voxels hold.
enum class VoxelKind {
  counts,  ///< uint16, particles
  field,   ///< float32, any finite number
  classes  ///< uint8, of core::kWebClasses; a target alone, in memory float
};

/// Size of a voxel in a file. [bytes]
inline std::size_t voxel_bytes(VoxelKind kind) {
  if (kind == VoxelKind::classes) return sizeof(std::uint8_t);
  return kind == VoxelKind::counts ? sizeof(std::uint16_t) : sizeof(float);
}

/// A quantity on the voxels of a cube, in one or several channels.
struct Quantity {
  VoxelKind kind = VoxelKind::counts;
  std::vector<int> shape;                       ///< (n, n, n) or (C, n, n, n)
  std::vector<double> redshifts;                ///< (C)
  std::string name = {};                        ///< the name of a target; empty for a network's input
  std::optional<core::WebDefinition> web = {};  ///< what defines classes, if that is known

  bool operator==(const Quantity&) const = default;
  int channels() const { return shape.size() == 4 ? shape.front() : 1; }
  int side() const { return shape.back(); }  ///< voxels per side
  /// Voxels of a sample, over all channels.
  std::size_t voxels() const {
    return std::accumulate(shape.begin(), shape.end(), std::size_t{1},
                           [](std::size_t product, int n) { return product * static_cast<std::size_t>(n); });
  }
  /// Size of a sample's voxels, uncompressed. [bytes]
  std::size_t bytes() const { return voxels() * voxel_bytes(kind); }
  /// Planes of a sample, over all channels, one after another.
  std::size_t planes() const { return static_cast<std::size_t>(channels() * side()); }
  /// The shape of the checksums of planes of `samples` samples.
  core::hdf5::Shape plane_shape(std::size_t samples) const {
    core::hdf5::Shape planes = stored_shape(samples);
    planes.resize(planes.size() - 2);
    return planes;
  }
  /// The shape of `samples` samples in a file.
  core::hdf5::Shape stored_shape(std::size_t samples) const {
    core::hdf5::Shape stored = {samples};
    stored.insert(stored.end(), shape.begin(), shape.end());
    return stored;
  }
};

/// Which of a sample's tensors.
enum class Tensor {
  input,    ///< what a network reads
  target,   ///< the field that it learns to predict, if there is one
  velocity  ///< velocities beside the input, if there are any
};

}  // namespace cosmo::dataset
