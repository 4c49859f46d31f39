#include "sim/force_mesh.hpp"

#include <algorithm>

#include "sim/mass_assignment.hpp"

namespace cosmo::sim {

ForceMesh::ForceMesh(const core::Communicator& comm, const core::GridSpec& grid, const ForceKernel& kernel)
    : mesh_(comm, grid),
      inverse_cell_(static_cast<float>(grid.cells_per_side / grid.box_size)),
      near_(kernel.near * inverse_cell_),
      far_(kernel.far * inverse_cell_) {}

void ForceMesh::deposit(const ParticleSet& particles) { density_contrast(mesh_, particles); }

void ForceMesh::solve() {
  mesh_.forward();
  const int half = mesh_.side() / 2;
  const auto scale = static_cast<float>(-1 / (mesh_.fundamental() * mesh_.fundamental()));
  mesh_.for_each_mode_row([&](int kx, int ky, std::complex<float>* modes) {
    const int across = kx * kx + ky * ky;
    // The mean has no potential.
    if (across == 0) modes[0] = 0;
    for (int kz = across == 0; kz <= half; ++kz) modes[kz] *= scale / static_cast<float>(across + kz * kz);
  });
  mesh_.backward();

  // Eight-wide reads run over the end of a row into a copy of its beginning.
  const int n = mesh_.side();
  mesh_.for_each_row([n](int, int, float* row) {
    for (int i = 0; i < fourier::FourierMesh::kRowRoom; ++i) row[n + i] = row[i % n];
  });
  fetch_halo();
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
  core::Buffer<float> send(outgoing.size() * plane_size);
  for (std::size_t i = 0; i < outgoing.size(); ++i) {
    std::copy_n(outgoing[i], plane_size, send.data() + i * plane_size);
  }
  if (halo_.size() == 0) halo_ = core::Buffer<float>(incoming.size() * plane_size);
  comm.all_to_all(send.data(), send_counts, halo_.data(), receive_counts);

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
