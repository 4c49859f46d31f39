#include "sim/particle_set.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

namespace cosmo::sim {

namespace {

/// A particle on its way to another rank.
using Record = std::array<float, 12>;

std::size_t total(const std::vector<int>& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::size_t{0},
                         [](std::size_t sum, int count) { return sum + static_cast<std::size_t>(count); });
}

}  // namespace

void ParticleSet::resize(std::size_t size) {
  if (3 * size > columns_[0].size()) {
    // Grown by a few per cent beyond need once particles have begun to travel, so that most steps allocate
    // nothing.
    const std::size_t room = size_ == 0 ? size : size + size / 32;
    for (auto& column : columns_) {
      core::Buffer<float> larger(3 * room);
      std::copy_n(column.data(), 3 * size_, larger.data());
      column = std::move(larger);
    }
  }
  size_ = size;
}

void ParticleSet::move_to_owners(const core::Communicator& comm, const core::GridSpec& grid) {
  if (comm.size() == 1) return;
  const auto inverse_cell = static_cast<float>(grid.cells_per_side / grid.box_size);
  std::vector<int> owner_of_plane;
  for (int plane = 0; plane < grid.cells_per_side; ++plane) {
    owner_of_plane.push_back(core::owner_of(grid.cells_per_side, plane, comm.size()));
  }
  const float* x = columns_[0].data();
  const auto owner = [&](std::size_t i) {
    return owner_of_plane[static_cast<std::size_t>(cell_of(x[3 * i], inverse_cell, grid.cells_per_side))];
  };

  std::vector<std::size_t> leavers;
  std::vector<int> send_counts(static_cast<std::size_t>(comm.size()), 0);
  for (std::size_t i = 0; i < size_; ++i) {
    if (owner(i) == comm.rank()) continue;
    leavers.push_back(i);
    ++send_counts[static_cast<std::size_t>(owner(i))];
  }

  std::vector<std::size_t> next(send_counts.size(), 0);
  for (std::size_t rank = 1; rank < next.size(); ++rank) {
    next[rank] = next[rank - 1] + static_cast<std::size_t>(send_counts[rank - 1]);
  }
  core::Buffer<Record> send(leavers.size());
  for (const std::size_t i : leavers) {
    Record& record = send[next[static_cast<std::size_t>(owner(i))]++];
    for (std::size_t c = 0; c < kColumns; ++c)
      std::copy_n(columns_[c].data() + 3 * i, 3, record.data() + 3 * c);
  }
  // From the last leaver on, the last particle that is left takes its place.
  for (auto i = leavers.rbegin(); i != leavers.rend(); ++i) {
    --size_;
    for (auto& column : columns_) std::copy_n(column.data() + 3 * size_, 3, column.data() + 3 * *i);
  }

  const std::vector<int> receive_counts = comm.exchange_counts(send_counts);
  core::Buffer<Record> receive(total(receive_counts));
  comm.all_to_all(send.data(), send_counts, receive.data(), receive_counts);
  const std::size_t first = size_;
  resize(first + receive.size());
  for (std::size_t i = 0; i < receive.size(); ++i) {
    for (std::size_t c = 0; c < kColumns; ++c) {
      std::copy_n(receive[i].data() + 3 * c, 3, columns_[c].data() + 3 * (first + i));
    }
  }
}

}  // namespace cosmo::sim
