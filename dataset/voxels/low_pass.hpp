#pragma once
// A low-pass of voxels: what a network is to predict from another simulator's universes must not depend on scales that
// simulators disagree about.

#include <span>
#include <vector>

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
    std::size_t offset;  ///< voxels further on
    float weight;
    const float* from;  ///< what sum() adds
  };

  /// to = sum over taps of weight × from, `size` values.
  void sum(std::size_t size, float* to) const;
  /// The same from `first` on, `Blocks` × 16 values at a time, none of which waits for another; returns how far.
  template <std::size_t Blocks>
  std::size_t sum_blocks(std::size_t first, std::size_t size, float* to) const;

  std::size_t side_;
  std::vector<Tap> taps_;
  std::vector<float> copy_;  ///< voxels that are being replaced
};

}  // namespace cosmo::dataset
