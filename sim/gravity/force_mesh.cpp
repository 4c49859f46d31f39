#include "sim/gravity/force_mesh.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <numbers>

namespace cosmo::sim {

namespace {

using Vector8 [[gnu::vector_size(32)]] = float;

/// Rows of values two and one before, and one and two after, the row whose derivative is computed.
struct Stencil {
  const float *before2, *before, *after, *after2;
};

struct Difference {
  float near, far;

  float one(const Stencil& at, std::size_t z) const {
    return near * (at.after[z] - at.before[z]) + far * (at.after2[z] - at.before2[z]);
  }
  Vector8 eight(const Stencil& at, std::size_t z) const {
    const auto load = [z](const float* row) {
      Vector8 values;
      std::memcpy(&values, row + z, sizeof values);
      return values;
    };
    return near * (load(at.after) - load(at.before)) + far * (load(at.after2) - load(at.before2));
  }
};

/// Transposes the components of eight nodes into eight vectors.
void store_as_nodes(const Vector8& x, const Vector8& y, const Vector8& z, Vector4* nodes) {
  const Vector8 zero = {};
  const Vector8 xy_even = __builtin_shufflevector(x, y, 0, 8, 1, 9, 4, 12, 5, 13);
  const Vector8 xy_odd = __builtin_shufflevector(x, y, 2, 10, 3, 11, 6, 14, 7, 15);
  const Vector8 z_even = __builtin_shufflevector(z, zero, 0, 8, 1, 9, 4, 12, 5, 13);
  const Vector8 z_odd = __builtin_shufflevector(z, zero, 2, 10, 3, 11, 6, 14, 7, 15);
  const Vector8 nodes04 = __builtin_shufflevector(xy_even, z_even, 0, 1, 8, 9, 4, 5, 12, 13);
  const Vector8 nodes15 = __builtin_shufflevector(xy_even, z_even, 2, 3, 10, 11, 6, 7, 14, 15);
  const Vector8 nodes26 = __builtin_shufflevector(xy_odd, z_odd, 0, 1, 8, 9, 4, 5, 12, 13);
  const Vector8 nodes37 = __builtin_shufflevector(xy_odd, z_odd, 2, 3, 10, 11, 6, 7, 14, 15);
  const Vector8 stored[] = {__builtin_shufflevector(nodes04, nodes15, 0, 1, 2, 3, 8, 9, 10, 11),
                            __builtin_shufflevector(nodes26, nodes37, 0, 1, 2, 3, 8, 9, 10, 11),
                            __builtin_shufflevector(nodes04, nodes15, 4, 5, 6, 7, 12, 13, 14, 15),
                            __builtin_shufflevector(nodes26, nodes37, 4, 5, 6, 7, 12, 13, 14, 15)};
  std::memcpy(nodes, stored, sizeof stored);
}

}  // namespace

ForceMesh::ForceMesh(const core::Communicator& comm, const core::GridSpec& grid, const ForceKernel& kernel)
    : mesh_(comm, grid),
      mass_(mesh_),
      order_(grid, mesh_.slab()),
      alternating_(kernel.alternating),
      near_(kernel.near * order_.axis().inverse_cell),
      far_(kernel.far * order_.axis().inverse_cell) {
  const auto side = static_cast<std::size_t>(grid.cells_per_side);
  const std::size_t nodes = static_cast<std::size_t>(order_.rows(0).size() + 1) * (side + 1);
  for (int thread = 0; thread < omp_get_max_threads(); ++thread) {
    strips_.push_back({{core::Buffer<Vector4>(nodes), core::Buffer<Vector4>(nodes)},
                       core::Buffer<float>(side + 2 * kReach)});
  }
  for (int k = 0; k <= grid.cells_per_side / 2; ++k) {
    const double kh = 2 * std::numbers::pi * k / grid.cells_per_side;
    const double fade = kernel.fade > 0 ? std::exp(-std::pow(kh / kernel.fade, 2)) : 0;
    const double window = k > 0 ? std::pow(std::sin(kh / 2) / (kh / 2), 4) : 1;
    undo_.push_back(static_cast<float>(fade / window));
    keep_.push_back(static_cast<float>(fade));
    const bool seen = 2 * k < grid.cells_per_side;
    const double slope = seen ? 2 * (kernel.near * std::sin(kh) + kernel.far * std::sin(2 * kh)) : 0;
    slope_along_.push_back(static_cast<float>(kh * slope));
    slope_square_.push_back(static_cast<float>(slope * slope));
  }
}

std::size_t ForceMesh::memory_bytes(int side, std::size_t particles, int ranks, const ForceKernel& kernel) {
  using fourier::FourierMesh;
  const std::size_t plane = FourierMesh::plane_bytes(side);
  const int planes_of_others = kBelow + kAbove + kernel.alternating;
  const std::size_t halo = ranks > 1 ? 2 * static_cast<std::size_t>(planes_of_others) * plane : 0;
  return FourierMesh::memory_bytes(side, ranks) + MassAssignment::memory_bytes(side, kernel.alternating) +
         halo + ParticleOrder::memory_bytes(particles);
}

void ForceMesh::deposit(const ParticleSet& particles, std::int32_t quanta) {
  order_.sort(particles, shifted_);
  mass_.deposit(particles, order_, quanta);
}

/// Calls transform(prepare), where `prepare` makes the density contrast of the particles plane by plane;
/// calls it again with coarser quanta if a cell overflowed, in which case the earlier densities are
/// discarded.
template <class Transform>
void ForceMesh::transform_density(const ParticleSet& particles, Transform&& transform) {
  for (std::int32_t quanta = kFinest;; quanta /= 4) {
    deposit(particles, quanta);
    transform([this](int x) { mass_.to_contrast(x); });
    if (quanta == kCoarsest) return mass_.check_mass();
    if (mass_.fits()) return;
  }
}

void ForceMesh::solve(const ParticleSet& particles, const ModeTable* filter) {
  transform_density(particles, [&](const auto& prepare) { solve_density(prepare, filter); });
}

fourier::PowerSpectrum ForceMesh::power_spectrum(const ParticleSet& particles, int bins) {
  transform_density(particles, [this](const auto& prepare) { mesh_.forward(prepare); });
  return fourier::power_spectrum(mesh_,
                                 {std::min(bins, mesh_.side() / 2), fourier::MassAssignment::cloud_in_cell});
}

void ForceMesh::solve_density(const fourier::FourierMesh::PlaneWork& prepare, const ModeTable* filter) {
  const auto scale = static_cast<float>(-1 / (mesh_.fundamental() * mesh_.fundamental()));
  const auto product = [](const std::vector<float>& axis, int kx, int ky, int kz) {
    const float* at = axis.data();
    return at[std::abs(kx)] * at[std::abs(ky)] * at[kz];
  };
  const auto sum = [](const std::vector<float>& axis, int kx, int ky, int kz) {
    const float* at = axis.data();
    return at[std::abs(kx)] + at[std::abs(ky)] + at[kz];
  };
  const auto green = [&](int kx, int ky, int kz) {
    const int square = kx * kx + ky * ky + kz * kz;
    const float undone = 1 + (product(undo_, kx, ky, kz) - product(keep_, kx, ky, kz));
    return square > 0 ? scale * undone / static_cast<float>(square) : 0.0f;  // the mean has no potential
  };
  const auto green_of_alternating = [&](int kx, int ky, int kz) {
    const int square = kx * kx + ky * ky + kz * kz;
    const float slopes = sum(slope_square_, kx, ky, kz);  // 0 for waves of which the differences see nothing
    if (slopes == 0) return 0.0f;
    const float lengthened = sum(slope_along_, kx, ky, kz) / slopes;
    const float undone = 1 + (product(undo_, kx, ky, kz) * lengthened - product(keep_, kx, ky, kz));
    return scale * undone / static_cast<float>(square);
  };
  const auto convolve = [&](const auto& factor) {
    if (filter == nullptr) return mesh_.convolve(prepare, factor);
    mesh_.convolve(prepare,
                   [&](int kx, int ky, int kz) { return (*filter)(kx, ky, kz) * factor(kx, ky, kz); });
  };
  alternating_ ? convolve(green_of_alternating) : convolve(green);
  fetch_halo();
}

/// The gradient of the potential at the nodes of plane x in the strip's rows and the next one,
/// (rows + 1, n + 1): the last node of a row repeats the first.
void ForceMesh::differentiate(int x, core::Slab rows, Vector4* gradient, float* scratch) const {
  const int n = mesh_.side();
  const auto side = static_cast<std::size_t>(n);
  const auto row = [&](int dx, int y) {
    const auto plane = static_cast<std::size_t>(x + dx - mesh_.slab().first + kBelow);
    return planes_[plane] + static_cast<std::size_t>((y + n) % n) * mesh_.row_stride();
  };
  const Difference difference{near_, far_};
  for (int y = rows.first; y <= rows.last; ++y, gradient += side + 1) {
    const float* centre = row(0, y);
    std::copy_n(centre + side - kReach, kReach, scratch);
    std::copy_n(centre, side, scratch + kReach);
    std::copy_n(centre, kReach, scratch + kReach + side);
    const Stencil along_x = {row(-2, y), row(-1, y), row(1, y), row(2, y)};
    const Stencil along_y = {row(0, y - 2), row(0, y - 1), row(0, y + 1), row(0, y + 2)};
    const Stencil along_z = {scratch, scratch + 1, scratch + 3, scratch + 4};
    std::size_t z = 0;
    for (; z + 8 <= side; z += 8) {
      store_as_nodes(difference.eight(along_x, z), difference.eight(along_y, z), difference.eight(along_z, z),
                     gradient + z);
    }
    for (; z < side; ++z) {
      gradient[z] =
          Vector4{difference.one(along_x, z), difference.one(along_y, z), difference.one(along_z, z), 0};
    }
    gradient[side] = gradient[0];
  }
}

/// Points planes_ at the planes around the slab and fetches those that other ranks own from their owners.
void ForceMesh::fetch_halo() {
  const auto& comm = mesh_.communicator();
  const int n = mesh_.side();
  const std::size_t plane_size = static_cast<std::size_t>(n) * mesh_.row_stride();
  const auto owner = [&](int plane) { return core::owner_of(n, core::wrapped(plane, n), comm.size()); };
  // Calls f(plane) for the planes around rank's slab that `from` owns and rank does not.
  const auto for_each_wanted = [&](int rank, int from, auto&& f) {
    const core::Slab slab = core::slab_of(n, rank, comm.size());
    for (int plane = slab.first - kBelow; plane <= last_plane(slab) + kAbove; ++plane) {
      if (owner(plane) == from && from != rank) f(plane);
    }
  };

  std::vector<int> send_counts, receive_counts;
  std::vector<const float*> outgoing;
  std::vector<int> incoming;
  for (int rank = 0; rank < comm.size(); ++rank) {
    const std::size_t sent = outgoing.size(), received = incoming.size();
    for_each_wanted(rank, comm.rank(),
                    [&](int plane) { outgoing.push_back(mesh_.row(core::wrapped(plane, n), 0)); });
    for_each_wanted(comm.rank(), rank, [&](int plane) { incoming.push_back(plane); });
    send_counts.push_back(static_cast<int>((outgoing.size() - sent) * plane_size));
    receive_counts.push_back(static_cast<int>((incoming.size() - received) * plane_size));
  }
  const auto make_room = [&](core::Buffer<float>& buffer, std::size_t planes) {
    if (buffer.size() < planes * plane_size) buffer = core::Buffer<float>(planes * plane_size);
  };
  make_room(halo_send_, outgoing.size());
  make_room(halo_, incoming.size());
  for (std::size_t i = 0; i < outgoing.size(); ++i) {
    std::copy_n(outgoing[i], plane_size, halo_send_.data() + i * plane_size);
  }
  comm.all_to_all(halo_send_.data(), send_counts, halo_.data(), receive_counts);

  const core::Slab slab = mesh_.slab();
  const int lowest = slab.first - kBelow, highest = last_plane(slab) + kAbove;
  planes_.assign(static_cast<std::size_t>(highest - lowest + 1), nullptr);
  for (int plane = lowest; plane <= highest; ++plane) {
    const int home = core::wrapped(plane, n);
    if (slab.contains(home)) planes_[static_cast<std::size_t>(plane - lowest)] = mesh_.row(home, 0);
  }
  for (std::size_t i = 0; i < incoming.size(); ++i) {
    planes_[static_cast<std::size_t>(incoming[i] - lowest)] = halo_.data() + i * plane_size;
  }
}

}  // namespace cosmo::sim
