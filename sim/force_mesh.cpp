#include "sim/force_mesh.hpp"

#include <algorithm>

namespace cosmo::sim {

ForceMesh::ForceMesh(const core::Communicator& comm, const core::GridSpec& grid, const ForceKernel& kernel)
    : mesh_(comm, grid),
      mass_(mesh_),
      order_(grid, mesh_.slab()),
      inverse_cell_(static_cast<float>(grid.cells_per_side / grid.box_size)),
      near_(kernel.near * inverse_cell_),
      far_(kernel.far * inverse_cell_) {
  const auto columns = static_cast<std::size_t>(grid.cells_per_side) + 1;
  const std::size_t nodes = static_cast<std::size_t>(order_.rows(0).size() + 1) * columns;
  for (int thread = 0; thread < omp_get_max_threads(); ++thread) {
    strips_.push_back(
        {{core::Buffer<Vector4>(nodes), core::Buffer<Vector4>(nodes)}, core::Buffer<float>(columns + 3)});
  }
}

std::size_t ForceMesh::memory_bytes(int side, std::size_t particles, int ranks) {
  using fourier::FourierMesh;
  const std::size_t plane = FourierMesh::memory_bytes(side, side);
  const std::size_t ghosts = 2 * plane;
  const std::size_t halo = ranks > 1 ? 2 * (kBelow + kAbove) * plane : 0;
  return FourierMesh::memory_bytes(side, ranks) + ghosts + halo + ParticleOrder::memory_bytes(particles);
}

void ForceMesh::deposit(const ParticleSet& particles) {
  order_.sort(particles);
  mass_.deposit(particles, order_);
}

void ForceMesh::solve() {
  solve([this](int x) { mass_.to_contrast(x); });
  mass_.check_mass();
}

fourier::PowerSpectrum ForceMesh::power_spectrum(const ParticleSet& particles, int bins) {
  deposit(particles);
  mesh_.forward([this](int x) { mass_.to_contrast(x); });
  mass_.check_mass();
  return fourier::power_spectrum(mesh_,
                                 {std::min(bins, mesh_.side() / 2), fourier::MassAssignment::cloud_in_cell});
}

void ForceMesh::solve_contrast() { solve({}); }

void ForceMesh::solve(const fourier::FourierMesh::PlaneWork& prepare) {
  const auto scale = static_cast<float>(-1 / (mesh_.fundamental() * mesh_.fundamental()));
  mesh_.convolve(prepare, [scale](int kx, int ky, int kz) {
    const int square = kx * kx + ky * ky + kz * kz;
    return square > 0 ? scale / static_cast<float>(square) : 0.0f;  // the mean has no potential
  });
  fetch_halo();
}

/// The gradient of the potential at the nodes of plane x and of the strip's rows and the next, (rows + 1, n +
/// 1): the last of a row repeats the first.
void ForceMesh::differentiate(int x, core::Slab rows, Vector4* gradient, float* scratch) const {
  const int n = mesh_.side();
  const auto side = static_cast<std::size_t>(n);
  const auto row = [&](int dx, int y) {
    const auto plane = static_cast<std::size_t>(x + dx - mesh_.slab().first + kBelow);
    return planes_[plane] + static_cast<std::size_t>((y + n) % n) * mesh_.row_stride();
  };
  const float near = near_, far = far_;
  for (int y = rows.first; y <= rows.last; ++y, gradient += side + 1) {
    const float *x1 = row(-1, y), *x2 = row(1, y), *x0 = row(-2, y), *x3 = row(2, y);
    const float *y1 = row(0, y - 1), *y2 = row(0, y + 1), *y0 = row(0, y - 2), *y3 = row(0, y + 2);
    const float* centre = row(0, y);
    std::copy_n(centre + side - 2, 2, scratch);
    std::copy_n(centre, side, scratch + 2);
    std::copy_n(centre, 2, scratch + side + 2);
    auto* __restrict out = reinterpret_cast<float*>(gradient);
    for (std::size_t z = 0; z < side; ++z) {
      out[4 * z] = near * (x2[z] - x1[z]) + far * (x3[z] - x0[z]);
      out[4 * z + 1] = near * (y2[z] - y1[z]) + far * (y3[z] - y0[z]);
      out[4 * z + 2] = near * (scratch[z + 3] - scratch[z + 1]) + far * (scratch[z + 4] - scratch[z]);
      out[4 * z + 3] = 0;
    }
    gradient[side] = gradient[0];
  }
}

/// Points planes_ at the planes around the slab and fetches those that other ranks own, from whichever that
/// is.
void ForceMesh::fetch_halo() {
  const auto& comm = mesh_.communicator();
  const int n = mesh_.side();
  const std::size_t plane_size = static_cast<std::size_t>(n) * mesh_.row_stride();
  const auto wrapped = [n](int plane) { return (plane % n + n) % n; };
  const auto owner = [&](int plane) { return core::owner_of(n, wrapped(plane), comm.size()); };
  // Calls f(plane) for the planes around rank's slab that `from` owns and rank does not.
  const auto for_each_wanted = [&](int rank, int from, auto&& f) {
    const core::Slab slab = core::slab_of(n, rank, comm.size());
    for (int plane = slab.first - kBelow; plane < slab.last + kAbove; ++plane) {
      if (owner(plane) == from && from != rank) f(plane);
    }
  };

  std::vector<int> send_counts, receive_counts;
  std::vector<const float*> outgoing;
  std::vector<int> incoming;
  for (int rank = 0; rank < comm.size(); ++rank) {
    const std::size_t sent = outgoing.size(), received = incoming.size();
    for_each_wanted(rank, comm.rank(), [&](int plane) { outgoing.push_back(mesh_.row(wrapped(plane), 0)); });
    for_each_wanted(comm.rank(), rank, [&](int plane) { incoming.push_back(plane); });
    send_counts.push_back(static_cast<int>((outgoing.size() - sent) * plane_size));
    receive_counts.push_back(static_cast<int>((incoming.size() - received) * plane_size));
  }
  if (halo_.size() == 0) {
    halo_send_ = core::Buffer<float>(outgoing.size() * plane_size);
    halo_ = core::Buffer<float>(incoming.size() * plane_size);
  }
  for (std::size_t i = 0; i < outgoing.size(); ++i) {
    std::copy_n(outgoing[i], plane_size, halo_send_.data() + i * plane_size);
  }
  comm.all_to_all(halo_send_.data(), send_counts, halo_.data(), receive_counts);

  const core::Slab slab = mesh_.slab();
  planes_.assign(static_cast<std::size_t>(slab.size()) + kBelow + kAbove, nullptr);
  const int lowest = slab.first - kBelow;
  for (int plane = lowest; plane < slab.last + kAbove; ++plane) {
    const int home = wrapped(plane);
    if (slab.contains(home)) planes_[static_cast<std::size_t>(plane - lowest)] = mesh_.row(home, 0);
  }
  for (std::size_t i = 0; i < incoming.size(); ++i) {
    planes_[static_cast<std::size_t>(incoming[i] - lowest)] = halo_.data() + i * plane_size;
  }
}

}  // namespace cosmo::sim
