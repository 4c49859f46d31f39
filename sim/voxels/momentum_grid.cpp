#include "sim/voxels/momentum_grid.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/error.hpp"

namespace cosmo::sim {

namespace {

constexpr double kQuantum = 0x1p-24;

std::size_t cells_of_plane(const core::GridSpec& spec) {
  const auto n = static_cast<std::size_t>(spec.cells_per_side);
  return n * n;
}

}  // namespace

std::uint64_t MomentumGrid::memory_bytes(const core::GridSpec& spec, int ranks) {
  const auto parts = static_cast<std::uint64_t>(ranks);
  const std::uint64_t planes = (static_cast<std::uint64_t>(spec.cells_per_side) + parts - 1) / parts;
  const std::uint64_t cells = planes * cells_of_plane(spec);
  return 3 * cells * (sizeof(std::int64_t) + sizeof(float)) +
         kRound * (sizeof(std::uint16_t) + sizeof(std::uint32_t)) +
         (ranks > 1 ? 4 * kRound * sizeof(Parcel) : 0);
}

MomentumGrid::MomentumGrid(const core::Communicator& comm, const core::GridSpec& spec)
    : comm_(comm),
      slab_(core::slab_of(spec.cells_per_side, comm.rank(), comm.size())),
      first_cell_(static_cast<std::uint32_t>(static_cast<std::size_t>(slab_.first) * cells_of_plane(spec))),
      cell_of_(spec),
      sums_(3 * static_cast<std::size_t>(slab_.size()) * cells_of_plane(spec)) {
  for (int rank = 0; rank < comm.size(); ++rank) {
    const core::Slab slab = core::slab_of(spec.cells_per_side, rank, comm.size());
    owner_of_plane_.insert(owner_of_plane_.end(), static_cast<std::size_t>(slab.size()), rank);
  }
  std::ranges::fill(sums_.span(), 0);
}

void MomentumGrid::add(std::uint32_t cell, const std::array<std::int64_t, 3>& momentum) {
  std::int64_t* sums = &sums_.span()[3 * static_cast<std::size_t>(cell - first_cell_)];
  for (std::size_t c = 0; c < 3; ++c) {
#pragma omp atomic
    sums[c] += momentum[c];
  }
}

void MomentumGrid::add(std::span<const float> positions, std::span<const float> momenta, double unit) {
  const std::size_t particles = positions.size() / 3;
  const auto ranks = static_cast<std::size_t>(comm_.size());
  const std::uint64_t rounds = comm_.max(std::uint64_t{(particles + kRound - 1) / kRound});
  std::vector<std::uint16_t> planes(std::min(particles, kRound));
  std::vector<std::uint32_t> cells(planes.size());
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const std::size_t first = std::min(particles, round * kRound), size = std::min(kRound, particles - first);
    std::vector<std::vector<Parcel>> leaving(ranks);
    comm_.agree([&] {
      bool sound = cell_of_.find(positions.subspan(3 * first, 3 * size), std::span(planes).first(size),
                                 std::span(cells).first(size));
      const double quanta = unit / kQuantum;
      constexpr double kMost = 0x1p52;
#pragma omp parallel for schedule(static) reduction(&& : sound) if (ranks == 1)
      for (std::size_t i = 0; i < size; ++i) {
        std::array<std::int64_t, 3> momentum{};
        for (std::size_t c = 0; c < 3; ++c) {
          const double value = quanta * static_cast<double>(momenta[3 * (first + i) + c]);
          sound = sound && std::abs(value) < kMost;
          if (std::abs(value) < kMost) momentum[c] = std::llround(value);
        }
        const int owner = owner_of_plane_[planes[i]];
        if (owner == comm_.rank())
          add(cells[i], momentum);
        else
          leaving[static_cast<std::size_t>(owner)].push_back({cells[i], momentum});
      }
      core::ensure(
          sound, core::Fault::numeric,
          "A particle's position or velocity is not a finite number: check the steps and cosmology of the "
          "simulation.");
    });
    if (ranks == 1) continue;
    std::vector<int> sent;
    std::vector<Parcel> packed;
    for (const std::vector<Parcel>& parcels : leaving) {
      sent.push_back(static_cast<int>(parcels.size()));
      packed.insert(packed.end(), parcels.begin(), parcels.end());
    }
    const std::vector<int> received = comm_.exchange_counts(sent);
    std::vector<Parcel> arrived(std::accumulate(received.begin(), received.end(), std::size_t{0}));
    comm_.all_to_all(packed.data(), sent, arrived.data(), received);
    for (const Parcel& parcel : arrived) add(parcel.cell, parcel.momentum);
  }
}

std::vector<float> MomentumGrid::scaled(double scale) const {
  const std::size_t cells = sums_.size() / 3;
  std::vector<float> values(sums_.size());
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < cells; ++i) {
    for (std::size_t c = 0; c < 3; ++c)
      values[c * cells + i] =
          static_cast<float>(scale * kQuantum * static_cast<double>(sums_.span()[3 * i + c]));
  }
  return values;
}

}  // namespace cosmo::sim
