#pragma once
// A reconstruction that moves mass back in steps, which reaches smaller scales than one step does.

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "core/buffer.hpp"
#include "core/fourier/fourier_mesh.hpp"
#include "core/parallel/communicator.hpp"

namespace cosmo::dataset {

/// The linear density of z = 0 as the counts of a periodic box have it, in real space. For one thread at a time.
///
/// Mass is moved back twice, by the displacements that its density has in linear theory after smoothing by a Gaussian of standard
/// deviation 2R, and then R. What it has moved in all, averaged over the mass that ends in a cell, is the displacement field of
/// the place where it began; the result is minus its divergence, and the density that is left (after Schmittfull, Baldauf &
/// Zaldarriaga 2017, arXiv:1704.06634, sections II and III). A voxel's mass is a number of equal parts of at most twice the
/// mean mass, placed evenly in the voxel, since the mass of halos spreads over many cells on its way back.
class IterativeReconstruction {
 public:
  /// `smoothing`: R, in voxels, positive. FFTW plans here: construct one at a time.
  IterativeReconstruction(double smoothing, int side);
  IterativeReconstruction(IterativeReconstruction&&) = default;
  IterativeReconstruction& operator=(IterativeReconstruction&&) = default;
  /// Bytes that one takes for boxes of `voxels` voxels, in which mass is spread as at z = 0 in voxels of 4 Mpc/h.
  static std::size_t memory_bytes(std::size_t voxels);

  /// Smooths by another R from now on.
  void set_smoothing(double smoothing) { smoothing_ = smoothing; }

  int side() const { return delta_.side(); }
  /// The reconstructed density contrast (side, side, side) of a box of counts, or of densities that are not negative; zeros if it is
  /// empty. Valid until the next call. T is std::uint16_t or float.
  template <class T>
  std::span<const float> apply(std::span<const T> box);

 private:
  using Vector [[gnu::vector_size(16)]] = float;
  using Modes = std::complex<float>;
  /// Mass that moves together.
  struct Part {
    std::array<float, 3> place, moved;  ///< where it is, and how far it has moved back [voxels]
    float mass;                         ///< in units of a voxel's mean mass
  };

  template <class T>
  void divide(std::span<const T> box, double mean);
  void assign_mass();
  void move_back(double smoothing);
  void assign_displacements();
  void add_divergence(std::size_t axis);

  double smoothing_;
  std::unique_ptr<core::Communicator> self_;  ///< at a place that stays when this is moved
  fourier::FourierMesh delta_, component_;
  std::vector<Part> parts_;
  core::Buffer<Vector> field_;   ///< (side³): displacements; at last mass times what it moved, and the mass
  core::Buffer<float> density_;  ///< (side³)
};

}  // namespace cosmo::dataset
