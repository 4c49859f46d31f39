#include "histogram/particle_counter.hpp"

#include <omp.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "core/error.hpp"

namespace cosmo::histogram {

using core::ensure;
using core::Fault;

namespace {

constexpr std::size_t kChunk = std::size_t{1} << 15;  ///< particles whose cells fit a core's own cache
constexpr std::size_t kBlock = 4096;                  ///< particles that a thread takes at a time
constexpr std::size_t kTogether = 64;  ///< particles of a block that are counted at once or kept together
constexpr std::size_t kAhead = 192;    ///< particles from a group to the one that is prefetched
constexpr std::size_t kFew = 8;        ///< a thread holds at most 1 / kFew of the buckets

/// Number of planes per bucket: at least 2^16 cells, since fewer are not worth a bucket, and at least a 512th
/// part of the grid, since more than 512 streams of cells do not fit the cache.
int planes_of_bucket(int cells_per_side) {
  const auto n = static_cast<std::size_t>(cells_per_side);
  constexpr std::size_t kCells = std::size_t{1} << 16, kMost = 512;
  return static_cast<int>(std::max((kCells + n * n - 1) / (n * n), (n + kMost - 1) / kMost));
}

core::Slab own_slab(const core::Communicator& comm, const core::GridSpec& spec) {
  const core::Slab slab = core::slab_of(spec.cells_per_side, comm.rank(), comm.size());
  const auto n = static_cast<std::uint64_t>(spec.cells_per_side);
  comm.agree([&] {
    ensure(static_cast<std::uint64_t>(slab.size()) * n * n <= std::uint64_t{1} << 32, Fault::config,
           "{} planes of a {}³ grid are too many for one rank: use more ranks.", slab.size(), n);
  });
  return slab;
}

}  // namespace

ParticleCounter::Layout::Layout(int cells_per_side, int ranks)
    : of_plane(static_cast<std::size_t>(cells_per_side)), first_of_rank{0} {
  const int planes = planes_of_bucket(cells_per_side);
  for (int rank = 0; rank < ranks; ++rank) {
    const core::Slab slab = core::slab_of(cells_per_side, rank, ranks);
    const std::size_t first = first_of_rank.back();
    for (int i = slab.first; i < slab.last; ++i) {
      of_plane[static_cast<std::size_t>(i)] =
          static_cast<std::uint16_t>(first + static_cast<std::size_t>((i - slab.first) / planes));
    }
    first_of_rank.push_back(first + static_cast<std::size_t>((slab.size() + planes - 1) / planes));
  }
}

ParticleCounter::Chunk::Chunk(std::size_t buckets)
    : planes(kChunk), cells(kChunk), sorted(kChunk), next(buckets) {}

bool ParticleCounter::HeldBuckets::exchange(Buckets held, Buckets asked) {
  const std::lock_guard lock(mutex_);
  const auto part = [&](Buckets buckets) { return std::span(taken_).subspan(buckets.first, buckets.size()); };
  std::ranges::fill(part(held), 0);
  const bool free = std::ranges::find(part(asked), 1) == part(asked).end();
  std::ranges::fill(part(free ? asked : held), 1);
  return free;
}

ParticleCounter::ParticleCounter(const core::Communicator& comm, const core::GridSpec& spec)
    : comm_(comm),
      grid_(spec, own_slab(comm, spec)),
      cells_of_(spec),
      layout_(spec.cells_per_side, comm.size()),
      first_bucket_(layout_.first_of_rank[static_cast<std::size_t>(comm.rank())]),
      own_buckets_(layout_.first_of_rank[static_cast<std::size_t>(comm.rank()) + 1] - first_bucket_),
      first_cell_(static_cast<std::uint32_t>(grid_.slab().first) *
                  static_cast<std::uint32_t>(spec.cells_per_side) *
                  static_cast<std::uint32_t>(spec.cells_per_side)),
      held_buckets_(own_buckets_),
      chunk_of_thread_(static_cast<std::size_t>(omp_get_max_threads()), Chunk(layout_.buckets())) {}

std::uint64_t ParticleCounter::memory_bytes(const core::GridSpec& spec, std::uint64_t particles, int ranks,
                                            int threads) {
  constexpr std::uint64_t kThread = kChunk * (sizeof(std::uint16_t) + 2 * sizeof(std::uint32_t));
  const auto n = static_cast<std::uint64_t>(spec.cells_per_side), parts = static_cast<std::uint64_t>(ranks);
  const std::uint64_t all = std::min<std::uint64_t>(particles, kRound), own = (all + parts - 1) / parts;
  const std::uint64_t cells = own + (ranks > 1 ? own + all : 0);
  return (n + parts - 1) / parts * n * n * sizeof(std::uint16_t) + cells * sizeof(std::uint32_t) +
         static_cast<std::uint64_t>(threads) * kThread;
}

/// Counts one particle in each of these cells, in buckets that no other thread holds.
void ParticleCounter::count(std::span<const std::uint32_t> cells) {
  std::uint16_t* counts = grid_.counts().data();
  const std::uint32_t first = first_cell_;
#pragma GCC unroll 8
  for (const std::uint32_t cell : cells) ++counts[cell - first];
}

/// Tries to hold these buckets, together with those that the thread holds or in place of them; returns
/// whether it does.
bool ParticleCounter::hold(Chunk& chunk, Buckets asked) {
  Buckets& held = chunk.held;
  if (held.first <= asked.first && asked.last <= held.last) return true;
  if (asked.size() * kFew > own_buckets_) return false;
  const Buckets both = {std::min(held.first, asked.first), std::max(held.last, asked.last)};
  const std::size_t parts = std::max(kFew, 2 * chunk_of_thread_.size());  // leaves some for other threads
  if (held.size() > 0 && both.size() * parts <= own_buckets_) asked = both;
  const bool taken = held_buckets_.exchange(held, asked);
  if (taken) held = asked;
  return taken;
}

/// Counts the `size` particles that follow those kept in the chunk, or keeps them too if they are in too many
/// buckets or in buckets of another rank or thread.
void ParticleCounter::count_at_once(Chunk& chunk, std::size_t size) {
  const std::uint16_t* planes = &chunk.planes[chunk.size];
  std::uint16_t lowest = planes[0], highest = lowest;
#pragma omp simd reduction(min : lowest) reduction(max : highest)
  for (std::size_t p = 0; p < size; ++p) {
    lowest = planes[p] < lowest ? planes[p] : lowest;
    highest = planes[p] > highest ? planes[p] : highest;
  }
  const std::size_t first = layout_.of_plane[lowest], last = layout_.of_plane[highest];
  if (first >= first_bucket_ && last < first_bucket_ + own_buckets_ &&
      hold(chunk, {first - first_bucket_, last - first_bucket_ + 1})) {
    count(std::span(chunk.cells).subspan(chunk.size, size));
    chunk.counted += size;
  } else {
    chunk.size += size;
  }
}

/// Sorts the cells that the chunk holds by bucket.
void ParticleCounter::sort(Chunk& chunk, std::span<std::uint32_t> cells,
                           std::span<std::uint32_t> starts) const {
  const std::uint16_t* bucket_of = layout_.of_plane.data();
  std::ranges::fill(chunk.next, 0);
  for (std::size_t p = 0; p < chunk.size; ++p) ++chunk.next[bucket_of[chunk.planes[p]]];
  std::exclusive_scan(chunk.next.begin(), chunk.next.end(), chunk.next.begin(), 0u);
  std::ranges::copy(chunk.next, starts.begin());
  starts.back() = static_cast<std::uint32_t>(chunk.size);
  for (std::size_t p = 0; p < chunk.size; ++p)
    chunk.sorted[chunk.next[bucket_of[chunk.planes[p]]]++] = chunk.cells[p];
  std::copy_n(chunk.sorted.begin(), chunk.size, cells.begin());  // `cells` is outside the cache
}

/// Counts particles at once, or fills the chunk with them. Returns false if a position is not finite.
template <class T>
bool ParticleCounter::fill(Chunk& chunk, std::span<const T> positions) {
  for (std::size_t first = 0; first < positions.size(); first += 3 * kTogether) {
    // Prefetched past the caches, which the counts need.
    const std::size_t ahead = first + 3 * kAhead, end = std::min(ahead + 3 * kTogether, positions.size());
    for (std::size_t i = ahead; i < end; i += 64 / sizeof(T)) __builtin_prefetch(&positions[i], 0, 0);
    const std::size_t size = std::min(kTogether, (positions.size() - first) / 3);
    if (!cells_of_.find(positions.subspan(first, 3 * size), std::span(chunk.planes).subspan(chunk.size, size),
                        std::span(chunk.cells).subspan(chunk.size, size))) {
      return false;
    }
    count_at_once(chunk, size);
  }
  return true;
}

/// The same with blocks of the positions until the chunk is full or no block is left.
template <class T>
bool ParticleCounter::fill(Chunk& chunk, std::span<const T> positions, WorkShares& blocks) {
  chunk.size = 0;
  bool finite = true;
  while (finite && chunk.size + kBlock <= kChunk) {
    const auto block = blocks.take(static_cast<std::size_t>(omp_get_thread_num()));
    if (!block) break;
    const std::size_t first = 3 * kBlock * *block;
    finite = fill(chunk, positions.subspan(first, std::min(3 * kBlock, positions.size() - first)));
  }
  held_buckets_.exchange(std::exchange(chunk.held, {}), {});
  return finite;
}

/// Takes blocks of the positions until all are counted or `chunks` chunks are sorted. Returns false if a
/// position is not finite.
template <class T>
bool ParticleCounter::sort_round(std::span<const T> positions, WorkShares& blocks, std::size_t chunks) {
  const std::size_t row = layout_.buckets() + 1;
  if (sorted_.size() < chunks * kChunk) sorted_ = core::Buffer<std::uint32_t>(chunks * kChunk);
  starts_.assign(chunks * row, 0);
  bool finite = true;
#pragma omp parallel for schedule(dynamic) reduction(&& : finite)
  for (std::size_t c = 0; c < chunks; ++c) {
    Chunk& chunk = chunk_of_thread_[static_cast<std::size_t>(omp_get_thread_num())];
    finite = finite && fill(chunk, positions, blocks);
    if (finite && chunk.size > 0)
      sort(chunk, sorted_.span().subspan(c * kChunk, chunk.size), std::span(starts_).subspan(c * row, row));
  }
  return finite;
}

std::vector<ParticleCounter::Sorted> ParticleCounter::own_parts(std::size_t chunks) const {
  std::vector<Sorted> parts;
  for (std::size_t c = 0; c < chunks; ++c) {
    parts.push_back(
        {sorted_.span().subspan(c * kChunk, kChunk),
         std::span(starts_).subspan(c * (layout_.buckets() + 1) + first_bucket_, own_buckets_ + 1)});
  }
  return parts;
}

/// Cells for other ranks, in the order of all buckets; `sizes` receives the number of cells per bucket.
std::vector<std::uint32_t> ParticleCounter::pack(std::size_t chunks, std::vector<int>& sizes) const {
  std::vector<std::uint32_t> packed;
  for (std::size_t b = 0; b < layout_.buckets(); ++b) {
    const std::size_t before = packed.size();
    const bool own = b >= first_bucket_ && b < first_bucket_ + own_buckets_;
    for (std::size_t c = 0; c < chunks && !own; ++c) {
      const std::uint32_t* starts = starts_.data() + c * (layout_.buckets() + 1);
      const std::uint32_t* cells = sorted_.data() + c * kChunk;
      packed.insert(packed.end(), cells + starts[b], cells + starts[b + 1]);
    }
    sizes[b] = static_cast<int>(packed.size() - before);
  }
  return packed;
}

/// Adds the cells that other ranks have for this one to the parts. Collective.
void ParticleCounter::exchange(std::size_t chunks, std::vector<Sorted>& parts) {
  const auto ranks = static_cast<std::size_t>(comm_.size());
  std::vector<int> sizes(layout_.buckets()), arriving(ranks * own_buckets_);
  const std::vector<std::uint32_t> leaving = pack(chunks, sizes);
  std::vector<int> buckets_of_rank(ranks), sent(ranks), received(ranks);
  for (std::size_t r = 0; r < ranks; ++r) {
    const auto first = sizes.begin() + static_cast<std::ptrdiff_t>(layout_.first_of_rank[r]);
    const auto last = sizes.begin() + static_cast<std::ptrdiff_t>(layout_.first_of_rank[r + 1]);
    buckets_of_rank[r] = static_cast<int>(last - first);
    sent[r] = std::accumulate(first, last, 0);
  }
  const std::vector<int> own_buckets(ranks, static_cast<int>(own_buckets_));
  comm_.all_to_all(sizes.data(), buckets_of_rank, arriving.data(), own_buckets);
  arrived_starts_.assign(ranks * (own_buckets_ + 1), 0);
  for (std::size_t r = 0; r < ranks; ++r) {
    const std::span<const int> of_rank = std::span(arriving).subspan(r * own_buckets_, own_buckets_);
    std::inclusive_scan(of_rank.begin(), of_rank.end(),
                        arrived_starts_.begin() + static_cast<std::ptrdiff_t>(r * (own_buckets_ + 1) + 1));
    received[r] = std::accumulate(of_rank.begin(), of_rank.end(), 0);
  }
  arrived_.resize(std::accumulate(received.begin(), received.end(), std::size_t{0}));
  comm_.all_to_all(leaving.data(), sent, arrived_.data(), received);
  std::size_t first = 0;
  for (std::size_t r = 0; r < ranks; ++r) {
    const auto size = static_cast<std::size_t>(received[r]);
    parts.push_back({std::span(arrived_).subspan(first, size),
                     std::span(arrived_starts_).subspan(r * (own_buckets_ + 1), own_buckets_ + 1)});
    first += size;
  }
}

void ParticleCounter::count(const std::vector<Sorted>& parts) {
#pragma omp parallel for schedule(dynamic)
  for (std::size_t b = 0; b < own_buckets_; ++b) {
    for (const Sorted& part : parts)
      count(part.cells.subspan(part.starts[b], part.starts[b + 1] - part.starts[b]));
  }
  for (const Sorted& part : parts) counted_ += part.starts.back() - part.starts.front();
}

template <class T>
void ParticleCounter::add(std::span<const T> positions) {
  comm_.agree([&] {
    ensure(positions.size() % 3 == 0, Fault::internal, "{} coordinates are not triples.", positions.size());
  });
  const std::size_t particles = positions.size() / 3, threads = chunk_of_thread_.size();
  const std::size_t most = std::max<std::size_t>(1, kRound / kChunk / static_cast<std::size_t>(comm_.size()));
  const std::size_t chunks = std::min(most, particles / kChunk + threads);
  WorkShares blocks((particles + kBlock - 1) / kBlock, threads);
  while (comm_.max(std::uint64_t{blocks.left()}) > 0) {
    comm_.agree([&] {
      ensure(
          sort_round(positions, blocks, chunks), Fault::numeric,
          "A particle's position is not a finite number: check the steps and cosmology of the simulation.");
    });
    std::vector<Sorted> parts = own_parts(chunks);
    if (comm_.size() > 1) exchange(chunks, parts);
    count(parts);
  }
}

CountGrid ParticleCounter::finish() && {
  for (const Chunk& chunk : chunk_of_thread_) counted_ += chunk.counted;
  if (comm_.max(grid_.sum() == counted_ ? 0 : 1) != 0) {  // a count that wrapped around is 65536 too low
    const auto filled = grid_.counts().size() -
                        static_cast<std::size_t>(std::ranges::count(grid_.counts(), std::uint16_t{0}));
    refuse_full_voxel("particles", grid_.spec().cells_per_side, comm_.sum(std::uint64_t{filled}));
  }
  return std::move(grid_);
}

template void ParticleCounter::add(std::span<const float>);
template void ParticleCounter::add(std::span<const double>);

}  // namespace cosmo::histogram
