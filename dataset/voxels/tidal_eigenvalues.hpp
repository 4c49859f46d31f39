#pragma once
// The tides of a periodic box of counts: what the finder of the cosmic web (core/fourier/web_finder.hpp) counts, before it does.

#include <array>
#include <cstddef>
#include <memory>
#include <span>

#include "core/buffer.hpp"
#include "core/fourier/fourier_mesh.hpp"
#include "core/parallel/communicator.hpp"

namespace cosmo::dataset {

/// The eigenvalues of a symmetric matrix (xx, yy, zz, xy, xz, yz), the largest first. Source: Smith 1961 (Communications of the
/// ACM 4, 168).
std::array<float, 3> eigenvalues(const std::array<float, 6>& matrix);

/// The eigenvalues of T = ∂i∂j∇⁻²δ of the counts' density contrast δ, smoothed by a Gaussian. For one thread at a time.
class TidalEigenvalues {
 public:
  /// `smoothing`: the Gaussian's standard deviation, in voxels, positive. FFTW plans here: construct one at a time.
  TidalEigenvalues(double smoothing, int side);
  TidalEigenvalues(TidalEigenvalues&&) = default;
  TidalEigenvalues& operator=(TidalEigenvalues&&) = default;
  /// Bytes that one takes for boxes of `voxels` voxels.
  static std::size_t memory_bytes(std::size_t voxels);

  int side() const { return delta_.side(); }
  /// Three channels (3, side, side, side) of a box of counts, or of densities that are not negative: the largest eigenvalue first;
  /// zeros if it is empty. Valid until the next call. T is std::uint16_t or float.
  template <class T>
  std::span<const float> apply(std::span<const T> box);

 private:
  double smoothing_;
  std::unique_ptr<core::Communicator> self_;  ///< at a place that stays when this is moved
  fourier::FourierMesh delta_, component_;
  core::Buffer<float> tensor_;  ///< (6, side³), of which the first three become the eigenvalues
};

}  // namespace cosmo::dataset
