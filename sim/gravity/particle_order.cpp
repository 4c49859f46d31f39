#include "sim/gravity/particle_order.hpp"

#include <omp.h>

#include <array>
#include <bit>
#include <utility>

namespace cosmo::sim {

namespace {

/// Log2 of the rows per strip. Fewer strips share fewer rows with others, but every thread needs several.
int log_strip_width(int rows) {
  const int width = std::clamp(rows / (4 * omp_get_max_threads()), 2, 16);
  return static_cast<int>(std::bit_width(static_cast<unsigned>(width))) - 1;
}

}  // namespace

ParticleOrder::ParticleOrder(const core::GridSpec& grid, core::Slab slab)
    : grid_(grid),
      slab_(slab),
      axis_(grid),
      log_width_(log_strip_width(grid.cells_per_side)),
      strips_(((grid.cells_per_side - 1) >> log_width_) + 1) {
  start_.resize(key_of(slab.first, strips_) + 1);
}

void ParticleOrder::sort(const ParticleSet& particles, bool shifted) {
  axis_ = NodeAxis(grid_, shifted);
  const std::size_t size = particles.size();
  if (index_.size() < size) index_ = core::Buffer<std::uint32_t>(particles.capacity());
  const float* x = particles.x().data();
  const auto nodes = static_cast<std::uint32_t>(axis_.nodes), last = static_cast<std::uint32_t>(axis_.last);
  const float inverse_cell = axis_.inverse_cell, shift = axis_.shift;
  const auto planes = static_cast<std::uint32_t>(slab_.size() + 1),
             first_plane = static_cast<std::uint32_t>(slab_.first);
  const int log_width = log_width_;
  const std::size_t keys = start_.size() - 1;
  next_.resize(static_cast<std::size_t>(omp_get_max_threads()));

  // Calls f(i, key) for i = first … end-1, computing many keys at once.
  const auto for_each_key = [=](std::size_t first, std::size_t end, auto&& f) {
    constexpr std::size_t kMany = 64;
    std::array<std::uint32_t, kMany> key;
    for (; first < end; first += kMany) {
      const std::size_t count = std::min(kMany, end - first);
      const float* position = x + 3 * first;
      for (std::size_t i = 0; i < count; ++i) {
        const auto below = [=](float coordinate) {
          const float scaled = (coordinate + shift) * inverse_cell;
          return std::min(static_cast<std::uint32_t>(static_cast<std::int32_t>(scaled)), last);
        };
        const std::uint32_t plane = below(position[3 * i]), row = below(position[3 * i + 1]);
        key[i] = ((row < nodes ? row : 0) >> log_width) * planes + plane - first_plane;
      }
      for (std::size_t i = 0; i < count; ++i) f(first + i, key[i]);
    }
  };

#pragma omp parallel
  {
    const auto thread = static_cast<std::size_t>(omp_get_thread_num());
    const auto threads = static_cast<std::size_t>(omp_get_num_threads());
    const std::size_t first = size * thread / threads, end = size * (thread + 1) / threads;
    std::vector<std::uint32_t>& next = next_[thread];
    next.assign(keys, 0);
    for_each_key(first, end, [&](std::size_t, std::uint32_t key) { ++next[key]; });
#pragma omp barrier
#pragma omp single
    {
      std::size_t sum = 0;
      for (std::size_t key = 0; key < keys; ++key) {
        start_[key] = sum;
        for (std::size_t t = 0; t < threads; ++t) {
          sum += std::exchange(next_[t][key], static_cast<std::uint32_t>(sum));
        }
      }
      start_[keys] = sum;
    }
    for_each_key(first, end, [&](std::size_t i, std::uint32_t key) {
      index_[next[key]++] = static_cast<std::uint32_t>(i);
    });
  }
}

}  // namespace cosmo::sim
