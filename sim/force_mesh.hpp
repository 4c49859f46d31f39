#pragma once

#include <cstring>
#include <vector>

#include "core/fourier/fourier_mesh.hpp"
#include "sim/force_kernel.hpp"
#include "sim/particle_set.hpp"

namespace cosmo::sim {

/// ∇∇⁻²delta at a particle [Mpc/h]; the physical acceleration is -3/2 Ωm/a times that, in units of H0².
struct Acceleration {
  float x, y, z;
};

/// Gravity of particles on a mesh: cloud in cell, -1/k², differences of the potential, gathered with the same
/// weights.
///
/// One mesh and two transforms a force. Collective; the communicator must outlive it.
class ForceMesh {
 public:
  /// Throws Error{config} as FourierMesh does.
  ForceMesh(const core::Communicator& comm, const core::GridSpec& grid, const ForceKernel& kernel);

  const core::Communicator& communicator() const { return mesh_.communicator(); }
  const core::GridSpec& grid() const { return mesh_.grid(); }

  /// Calls use(i, acceleration) for every particle of this rank, from many threads. The particles must live
  /// on the rank that owns their x. Throws as density_contrast.
  template <class Use>
  void accelerate(const ParticleSet& particles, Use&& use) {
    deposit(particles);
    solve();
    gather(particles, use);
  }

  /// The three parts of accelerate(): density contrast to mesh(), mesh() to potential, potential to
  /// particles.
  void deposit(const ParticleSet& particles);
  void solve();
  template <class Use>
  void gather(const ParticleSet& particles, Use&& use) const;

  fourier::FourierMesh& mesh() { return mesh_; }

 private:
  /// Planes and rows that differences around a cell reach: from -kBelow to +kAbove.
  static constexpr int kBelow = 2, kAbove = 3, kReach = kBelow + 1 + kAbove;
  /// Eight values along z.
  using Vector [[gnu::vector_size(32)]] = float;

  /// Weights of the nodes -2 … 3 around a coordinate's cell.
  struct Weights {
    int cell;
    float cloud[kReach];     ///< of the value: cloud in cell
    float gradient[kReach];  ///< of the derivative: cloud in cell of the differences
  };
  Weights weights(float x) const;
  Acceleration gradient_at(const float* x) const;
  void fetch_halo();

  fourier::FourierMesh mesh_;
  float inverse_cell_, near_, far_;   // differences divided by the cell size
  core::Buffer<float> halo_;          // planes of other ranks
  std::vector<const float*> planes_;  // of x from slab.first - kBelow to slab.last - 1 + kAbove
};

inline ForceMesh::Weights ForceMesh::weights(float x) const {
  const int cell = cell_of(x, inverse_cell_, mesh_.side());
  const float f = x * inverse_cell_ - static_cast<float>(cell);
  const float e = 1 - f;
  return {cell,
          {0, 0, e, f, 0, 0},
          {-e * far_, -e * near_ - f * far_, -f * near_, e * near_, e * far_ + f * near_, f * far_}};
}

inline Acceleration ForceMesh::gradient_at(const float* x) const {
  const int n = mesh_.side();
  const Weights wx = weights(x[0]), wy = weights(x[1]), wz = weights(x[2]);
  const float* const* plane = planes_.data() + (wx.cell - mesh_.slab().first);
  const auto z_first = static_cast<std::size_t>(wz.cell >= kBelow ? wz.cell - kBelow : wz.cell - kBelow + n);
  std::size_t offset[kReach];
  for (int j = 0; j < kReach; ++j) {
    int y = wy.cell - kBelow + j;
    y = y < 0 ? y + n : y >= n ? y - n : y;
    offset[j] = static_cast<std::size_t>(y) * mesh_.row_stride() + z_first;
  }
  const auto load = [&](int i, int j) {
    Vector values;
    std::memcpy(&values, plane[i] + offset[j], sizeof values);
    return values;
  };
  // Sums over y, then x, eight z at a time; only the cell's two nodes have weight across the derivative.
  Vector along_x{}, along_y{}, along_z{};
  for (int i = 0; i < kReach; ++i) {
    const Vector value = wy.cloud[kBelow] * load(i, kBelow) + wy.cloud[kBelow + 1] * load(i, kBelow + 1);
    along_x += wx.gradient[i] * value;
    if (i != kBelow && i != kBelow + 1) continue;
    along_z += wx.cloud[i] * value;
    Vector gradient{};
    for (int j = 0; j < kReach; ++j) gradient += wy.gradient[j] * load(i, j);
    along_y += wx.cloud[i] * gradient;
  }
  const auto cloud = [&](const Vector& sum) {
    return wz.cloud[kBelow] * sum[kBelow] + wz.cloud[kBelow + 1] * sum[kBelow + 1];
  };
  float difference = 0;
  for (int k = 0; k < kReach; ++k) difference += wz.gradient[k] * along_z[k];
  return {cloud(along_x), cloud(along_y), difference};
}

template <class Use>
void ForceMesh::gather(const ParticleSet& particles, Use&& use) const {
  const float* x = particles.x().data();
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < particles.size(); ++i) use(i, gradient_at(x + 3 * i));
}

}  // namespace cosmo::sim
