#pragma once
// A low-pass of voxels: what a network is to predict from another simulator's universes must not depend on scales that
// simulators disagree about.

#include <span>
#include <vector>

#include "core/buffer.hpp"

namespace cosmo::dataset {

/// Weights (side) of a periodic Gaussian along one axis: weight[d] is that of the voxel d further on. Their sum is 1.
/// `deviation` in voxels, positive: exp(−d² / (2 deviation²)), summed over the periodic images of d.
std::vector<double> low_pass_weights(double deviation, int side);

/// Convolves periodic cubes with a Gaussian, axis by axis. For one thread at a time.
class LowPass {
 public:
  /// `deviation` in voxels, positive.
  LowPass(double deviation, int side);

  /// smoothed = voxels, each channel convolved; both (channels, side, side, side). T is std::uint16_t or float.
  template <class T>
  void apply(std::span<const T> voxels, std::span<float> smoothed);

 private:
  struct Tap {
    std::size_t offset;  ///< voxels behind the first that is reached
    float weight;
    const float* from;  ///< what sum() adds
  };

  /// to = sum over taps of weight × from, `size` values.
  void sum(std::size_t size, float* to) const;
  /// The same from `first` on, `Blocks` × 16 values at a time, none of which waits for another; returns how far.
  template <std::size_t Blocks>
  std::size_t sum_blocks(std::size_t first, std::size_t size, float* to) const;

  /// `side` rows of values.
  struct Rows {
    const float* first;
    std::size_t apart;  ///< from one row to the next
  };

  /// The rows of a plane (side, side), convolved along themselves. Valid until the next call.
  template <class T>
  Rows along_z(const T* plane);
  /// Convolves rows of `width` values across the rows, into `to`, in which rows are `apart`; both may be the same.
  void across(Rows rows, std::size_t width, float* to, std::size_t apart);

  std::size_t side_, before_ = 0, after_ = 0;  ///< voxels that the taps reach backwards and forwards
  std::vector<Tap> taps_;
  core::Buffer<float>
      copy_;  ///< rows that are being replaced, with their periodic ends; behind a plane's, their sums
};

}  // namespace cosmo::dataset
