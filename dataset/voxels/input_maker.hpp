#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "dataset/quantity/voxel_transform.hpp"
#include "dataset/voxels/augmentation.hpp"
#include "dataset/voxels/field_map.hpp"
#include "dataset/voxels/iterative_reconstruction.hpp"
#include "dataset/voxels/low_pass.hpp"
#include "dataset/voxels/tidal_eigenvalues.hpp"

namespace cosmo::dataset {

/// Makes a network's input from the voxels of samples, counts (T: std::uint16_t) by a table, a field (T: float) or
/// smoothed voxels by a map of each channel: the one place where that is done. For one thread at a time.
class InputMaker {
 public:
  /// `channel` is the number of voxels in a channel of a sample. Throws Error{config} if there is no transform of that
  /// name.
  InputMaker(const VoxelTransform& transform, std::size_t channel);
  InputMaker(InputMaker&&) = default;
  InputMaker& operator=(InputMaker&&) = default;
  /// Bytes that one allocates for samples of `elements` voxels in all channels.
  static std::size_t memory_bytes(const VoxelTransform& transform, std::size_t elements);

  /// Makes the input of a whole sample, in its order; both have the same size.
  template <class T>
  void make(std::span<const T> sample, std::span<float> input) {
    begin(sample);
    make_part(sample, input);
  }

  /// Whether parts of a sample are made alike without begin().
  bool same_for_all() const { return !needs_sample_; }
  /// The parts to come are this sample's, on all of whose voxels the transform depends unless same_for_all(). A low-pass
  /// smooths them here.
  template <class T>
  void begin(std::span<const T> sample);
  /// Makes a part of the input, in its order; `first` is the number of the part's first voxel in the sample.
  template <class T>
  void make_part(std::span<const T> part, std::span<float> input, std::size_t first = 0) const;
  /// The same, turned: `part` (channels, box), `input` (channels, the turned box), from the channel `first` on; with a
  /// low-pass, the box is the sample's.
  template <class T>
  void make_part(const Symmetry& symmetry, const Box& box, std::span<const T> part, std::span<float> input,
                 std::size_t first = 0) const;
  /// Makes three channels of velocities (3, side, side, side), turned as vectors are: output axis a has the component along
  /// the input axis that it runs along, with its sign.
  void make_velocity(const Symmetry& symmetry, std::span<const float> velocity, std::span<float> input) const;
  /// Makes the channels (side, side, side) beside the voxels' but velocities: what is made of the whole first channel of `sample`,
  /// turned. `input`: all channels beside the voxels'.
  template <class T>
  void make_beside(const Symmetry& symmetry, std::span<const T> sample, std::span<float> input);

 private:
  /// Maps of all channels, or one for all.
  using FieldMaps = std::vector<FieldMap>;

  static std::variant<VoxelTable, FieldMaps> map_of(const VoxelTransform& transform);
  /// Smooths a sample, and divides it by its mean if the transform does.
  template <class T>
  void smooth(std::span<const T> sample);
  void map_part(std::span<const float> part, std::span<float> input, std::size_t first) const;
  void map_part(const Symmetry& symmetry, const Box& box, std::span<const float> part, std::span<float> input,
                std::size_t first) const;

  bool needs_sample_;
  float velocity_;       ///< factor on velocities
  bool relative_;        ///< with a low-pass: smoothed voxels are divided by the sample's mean
  std::size_t channel_;  ///< voxels of a channel
  std::variant<VoxelTable, FieldMaps> map_;
  std::span<const float> table_;  ///< for counts: the sample that was begun has this one
  std::optional<LowPass> low_pass_;
  std::vector<float> smoothed_;  ///< the sample that was begun
  std::optional<TidalEigenvalues> tides_;
  FieldMap tides_map_;
  std::optional<IterativeReconstruction> reconstruction_;
};

}  // namespace cosmo::dataset
