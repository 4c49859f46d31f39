#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>

#include "core/buffer.hpp"
#include "core/fourier/fourier_mesh.hpp"
#include "core/parallel/communicator.hpp"

namespace cosmo::dataset {

/// Standard reconstruction of the initial density from the voxels of a periodic box. Every voxel's excess over the mean is moved
/// back by the displacement that the smoothed density has in linear theory, ψ(k) = i k/k² exp(−k² R²/2) δ(k), and assigned
/// to the voxels around by cloud in cell. Voxels are particles at their centres: those of the data and of the uniform
/// distribution are moved alike, so that their difference is what is moved. In real space.
/// Source: Eisenstein et al. 2007 (arXiv:astro-ph/0604362), section 3. For one thread at a time.
class Reconstruction {
 public:
  /// `smoothing`: R, in voxels, positive. FFTW plans here: construct one at a time.
  Reconstruction(double smoothing, int side);
  Reconstruction(Reconstruction&&) = default;
  Reconstruction& operator=(Reconstruction&&) = default;
  /// Bytes that one takes for boxes of `voxels` voxels.
  static std::size_t memory_bytes(std::size_t voxels);

  /// Smooths by another R from now on.
  void set_smoothing(double smoothing) { smoothing_ = smoothing; }

  int side() const { return delta_.side(); }
  /// The reconstructed density contrast (side, side, side) of a box of counts, or of densities that are not negative; zeros if it is
  /// empty. Valid until the next call. T is std::uint16_t or float.
  template <class T>
  std::span<const float> apply(std::span<const T> box);

 private:
  void displace(std::size_t axis);
  void move(std::span<const float> excess);

  double smoothing_;
  std::unique_ptr<core::Communicator> self_;  ///< at a place that stays when this is moved
  fourier::FourierMesh delta_, component_;
  std::array<core::Buffer<float>, 3> displacement_;  ///< (side³) [voxels]
  core::Buffer<float> excess_, moved_;               ///< (side³)
};

}  // namespace cosmo::dataset
