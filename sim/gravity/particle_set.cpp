#include "sim/gravity/particle_set.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

namespace cosmo::sim {

namespace {

std::size_t total(const std::vector<int>& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::size_t{0},
                         [](std::size_t sum, int count) { return sum + static_cast<std::size_t>(count); });
}

template <class T>
void grow(core::Buffer<T>& buffer, std::size_t used, std::size_t size) {
  core::Buffer<T> larger(size);
  std::copy_n(buffer.data(), used, larger.data());
  buffer = std::move(larger);
}

}  // namespace

ParticleSet ParticleSet::at(std::span<const float> x) {
  ParticleSet particles;
  particles.in_use_ = {true};
  particles.reserve(x.size() / 3);
  particles.size_ = x.size() / 3;
  std::ranges::copy(x, particles.x().begin());
  return particles;
}

void ParticleSet::number(std::uint64_t first) {
  has_ids_ = true;
  ids_ = core::Buffer<std::uint64_t>(capacity());
  std::iota(ids_.data(), ids_.data() + size_, first);
}

void ParticleSet::keep(bool momenta) {
  for (const auto& [kept, from] : {std::pair(kKeptX, kX), std::pair(kKeptP, kP)}) {
    if (from == kP && !momenta) continue;
    in_use_[kept] = true;
    columns_[kept] = core::Buffer<float>(3 * capacity() + 1);
    std::ranges::copy(column(from), columns_[kept].data());
  }
}

void ParticleSet::restore() {
  for (const auto& [kept, to] : {std::pair(kKeptX, kX), std::pair(kKeptP, kP)}) {
    if (in_use_[kept]) replace(to, kept);
  }
}

void ParticleSet::reuse_displacements() {
  replace(kX, kPsi1);
  replace(kP, kPsi2);
}

void ParticleSet::replace(Column to, Column from) {
  columns_[to] = std::exchange(columns_[from], {});
  in_use_[from] = false;
}

void ParticleSet::reserve(std::size_t capacity) {
  for (std::size_t c = 0; c < kColumns; ++c) {
    if (in_use_[c]) grow(columns_[c], 3 * size_, 3 * capacity + 1);
  }
  if (has_ids_) grow(ids_, size_, capacity);
}

void ParticleSet::resize(std::size_t size) {
  if (size > capacity()) reserve(size + size / 32);  // so that most steps allocate nothing
  size_ = size;
}

void ParticleSet::copy(std::size_t from, std::size_t to) {
  for (std::size_t c = 0; c < kColumns; ++c) {
    if (in_use_[c]) std::copy_n(columns_[c].data() + 3 * from, 3, columns_[c].data() + 3 * to);
  }
  if (has_ids_) ids_[to] = ids_[from];
}

std::size_t ParticleSet::record_floats() const {
  std::size_t floats = has_ids_ ? 2 : 0;
  for (const bool used : in_use_) floats += used ? 3 : 0;
  return floats;
}

void ParticleSet::pack(std::size_t i, float* record) const {
  for (std::size_t c = 0; c < kColumns; ++c) {
    if (in_use_[c]) record = std::copy_n(columns_[c].data() + 3 * i, 3, record);
  }
  if (has_ids_) std::memcpy(record, &ids_[i], sizeof ids_[i]);
}

void ParticleSet::unpack(std::size_t i, const float* record) {
  for (std::size_t c = 0; c < kColumns; ++c) {
    if (!in_use_[c]) continue;
    std::copy_n(record, 3, columns_[c].data() + 3 * i);
    record += 3;
  }
  if (has_ids_) std::memcpy(&ids_[i], record, sizeof ids_[i]);
}

void ParticleSet::move_to_owners(const core::Communicator& comm, const core::GridSpec& grid) {
  if (comm.size() == 1) return;
  const auto inverse_cell = static_cast<float>(grid.cells_per_side / grid.box_size);
  std::vector<int> owner_of_plane;
  for (int plane = 0; plane < grid.cells_per_side; ++plane) {
    owner_of_plane.push_back(core::owner_of(grid.cells_per_side, plane, comm.size()));
  }
  const float* positions = x().data();
  const auto owner = [&](std::size_t i) {
    return owner_of_plane[static_cast<std::size_t>(
        cell_of(positions[3 * i], inverse_cell, grid.cells_per_side))];
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
  const std::size_t width = record_floats();
  core::Buffer<float> send(width * leavers.size());
  for (const std::size_t i : leavers) {
    pack(i, send.data() + width * next[static_cast<std::size_t>(owner(i))]++);
  }
  // Going backwards through the leavers, the last remaining particle takes each one's place.
  for (auto i = leavers.rbegin(); i != leavers.rend(); ++i) copy(--size_, *i);

  const std::vector<int> receive_counts = comm.exchange_counts(send_counts);
  core::Buffer<float> receive(width * total(receive_counts));
  comm.all_to_all(send.data(), send_counts, receive.data(), receive_counts, width);
  const std::size_t first = size_, arrived = total(receive_counts);
  resize(first + arrived);
  for (std::size_t i = 0; i < arrived; ++i) unpack(first + i, receive.data() + width * i);
}

}  // namespace cosmo::sim
