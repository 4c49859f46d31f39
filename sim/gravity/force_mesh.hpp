#pragma once

#include <omp.h>

#include <cstring>
#include <utility>
#include <vector>

#include "core/fourier/fourier_mesh.hpp"
#include "core/fourier/power_spectrum.hpp"
#include "sim/gravity/force_kernel.hpp"
#include "sim/gravity/group.hpp"
#include "sim/gravity/mass_assignment.hpp"
#include "sim/gravity/particle_order.hpp"
#include "sim/gravity/particle_set.hpp"
#include "sim/linear/mode_table.hpp"

namespace cosmo::sim {

/// Gravity of particles on a mesh: cloud-in-cell density, -1/k², and differences of the potential, gathered
/// with the same weights.
///
/// Takes one mesh and two transforms per force; the three components exist only for the strip of rows and the
/// two planes that a thread is working on. Collective; the communicator must outlive it.
class ForceMesh {
 public:
  /// Throws Error{config} as FourierMesh does.
  ForceMesh(const core::Communicator& comm, const core::GridSpec& grid, const ForceKernel& kernel);
  ForceMesh(const ForceMesh&) = delete;
  ForceMesh& operator=(const ForceMesh&) = delete;

  /// Memory when `ranks` share a mesh and each has `particles` particles [bytes].
  static std::size_t memory_bytes(int side, std::size_t particles, int ranks, const ForceKernel& kernel);

  /// Moves the nodes to their places for this step, 0, 1, ..., from which later forces are computed.
  void begin_step(int step) { shifted_ = alternating_ && step % 2 == 1; }

  /// Frees the list of particles, ParticleOrder::memory_bytes(), until the next force.
  void release_order() { order_.release(); }

  const core::Communicator& communicator() const { return mesh_.communicator(); }
  const core::GridSpec& grid() const { return mesh_.grid(); }

  /// Calls use(group, position, g) for all particles of this rank in groups, from many threads: their x [Mpc/h] and
  /// g = ∇∇⁻²delta there [Mpc/h]; the physical acceleration is -3/2 Ωm/a g, in units of H0². `use` may move
  /// the particles. Each particle must be on the rank that owns its x. A `filter` multiplies the potential's waves. Throws as
  /// MassAssignment does.
  template <class Use>
  void accelerate(const ParticleSet& particles, Use&& use, const ModeTable* filter = nullptr) {
    solve(particles, filter);
    gather_again(particles, use);
  }

  /// The parts of accelerate(): solve() computes the potential from particles; gather() evaluates it at other
  /// particles, and gather_again(), as in accelerate(), at those of the last solve() or gather().
  void solve(const ParticleSet& particles, const ModeTable* filter = nullptr);
  template <class Use>
  void gather(const ParticleSet& particles, Use&& use) {
    order_.sort(particles, shifted_);
    gather_again(particles, use);
  }
  template <class Use>
  void gather_again(const ParticleSet& particles, Use&& use);
  /// The parts of solve(): deposit particles as quanta of mass, and solve for a density contrast in mesh(), whose planes
  /// `prepare` makes ready.
  void deposit(const ParticleSet& particles, std::int32_t quanta = kFinest);
  void solve_density(const fourier::FourierMesh::PlaneWork& prepare, const ModeTable* filter = nullptr);

  /// The power spectrum of the particles, each on the rank that owns its x, in `bins` bins: cloud in cell,
  /// corrected for its window. Leaves the modes in mesh().
  fourier::PowerSpectrum power_spectrum(const ParticleSet& particles, int bins);

  fourier::FourierMesh& mesh() { return mesh_; }

 private:
  /// Quanta of mass per particle: the finest, with room for 2047 particles in a cell, and the coarsest,
  /// 131071.
  static constexpr std::int32_t kFinest = 1 << 21, kCoarsest = 1 << 15;
  /// Number of nodes that the differences reach to either side.
  static constexpr int kReach = 2;
  /// Number of planes of the potential that are needed before the slab's first plane of cells and after its last, which
  /// lies between two planes of nodes that both need the gradient.
  static constexpr int kBelow = kReach;
  static constexpr int kAbove = kReach + 1;
  /// Distance of the prefetch [particles]: the order of particles is known, but the hardware cannot predict
  /// it.
  static constexpr std::size_t kAhead = 2 * Group::kSize;

  /// A thread's buffers: the gradient at two planes of a strip, (rows + 1, n + 1) nodes each, and a row of
  /// the potential with its periodic neighbours.
  struct Strip {
    core::Buffer<Vector4> gradient[2];
    core::Buffer<float> row;
  };

  template <class Transform>
  void transform_density(const ParticleSet& particles, Transform&& transform);
  int last_plane(core::Slab slab) const { return slab.last - 1 + shifted_; }  // of cells
  void fetch_halo();
  void differentiate(int x, core::Slab rows, Vector4* gradient, float* scratch) const;

  fourier::FourierMesh mesh_;
  MassAssignment mass_;
  ParticleOrder order_;
  bool alternating_;
  bool shifted_ = false;            // the nodes lie half a cell lower
  float near_, far_;                // differences divided by the cell size
  std::vector<float> undo_, keep_;  // by wavenumber along an axis: fade / window, fade
  std::vector<float> slope_along_,
      slope_square_;  // by wavenumber along an axis: kh D h and (D h)² of its differences D
  core::Buffer<float> halo_, halo_send_;  // planes from other ranks, and planes for them
  std::vector<const float*> planes_;      // planes of x from slab.first - kBelow to last_plane() + kAbove
  std::vector<Strip> strips_;             // by thread
};

template <class Use>
void ForceMesh::gather_again(const ParticleSet& particles, Use&& use) {
  using Pair [[gnu::vector_size(2 * sizeof(Vector4))]] = float;  // the gradient at z and z + 1
  const float* x = particles.x().data();
  const auto touched = particles.touched();
  const core::Slab slab = mesh_.slab();
  const int n = mesh_.side(), stride = 4 * (n + 1);  // distance of the strip's rows [floats]
  const NodeAxis axis = order_.axis();
  const int last = last_plane(slab);
  auto own_use = use;

  // Each thread has its own copy of `use`, whose members stay in registers.
#pragma omp parallel firstprivate(own_use)
#pragma omp for schedule(dynamic)
  for (int strip = 0; strip < order_.strips(); ++strip) {
    Strip& own = strips_[static_cast<std::size_t>(omp_get_thread_num())];
    const core::Slab rows = order_.rows(strip);
    Vector4 *lower = own.gradient[0].data(), *upper = own.gradient[1].data();
    differentiate(slab.first, rows, lower, own.row.data());
    for (int plane = slab.first; plane <= last; ++plane, std::swap(lower, upper)) {
      differentiate(plane + 1, rows, upper, own.row.data());
      const auto* low = reinterpret_cast<const float*>(lower);
      const auto* high = reinterpret_cast<const float*>(upper);
      const auto indices = order_.particles(strip, plane);
      for (std::size_t k = 0; k < indices.size(); k += Group::kSize) {
        const Group group(indices, k);
        const Vectors position = load3(x, group);
        const NodePlaces at_x(position.x, axis), at_y(position.y, axis), at_z(position.z, axis);
        alignas(Component) float fraction[3][Group::kSize];
        const Component fractions[] = {at_x.fraction, at_y.fraction, at_z.fraction};
        std::memcpy(fraction, fractions, sizeof fraction);
        alignas(Component) int nodes[Group::kSize];
        const NodePlaces::Whole node = (at_y.node - rows.first) * stride + 4 * at_z.node;
        std::memcpy(nodes, &node, sizeof node);
        const auto gradient = [&](std::size_t i) __attribute__((always_inline)) {
          const std::size_t later = 3 * std::size_t{indices[std::min(k + kAhead + i, indices.size() - 1)]};
          for (const float* column : touched) __builtin_prefetch(column + later);
          const auto along_y = [&](const float* plane_nodes) {
            Pair first, second;
            std::memcpy(&first, plane_nodes + nodes[i], sizeof first);
            std::memcpy(&second, plane_nodes + nodes[i] + stride, sizeof second);
            return first + fraction[1][i] * (second - first);
          };
          const Pair below = along_y(low), above = along_y(high);
          const Pair pair = below + fraction[0][i] * (above - below);
          const Vector4 here = __builtin_shufflevector(pair, pair, 0, 1, 2, 3);
          const Vector4 next = __builtin_shufflevector(pair, pair, 4, 5, 6, 7);
          return here + fraction[2][i] * (next - here);
        };
        own_use(group, position, components_of(gradient));
      }
    }
  }
}

}  // namespace cosmo::sim
