#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "core/buffer.hpp"
#include "core/parallel/communicator.hpp"
#include "histogram/cell_finder.hpp"
#include "histogram/count_grid.hpp"
#include "histogram/work_shares.hpp"

namespace cosmo::histogram {

/// Counts particles added in portions, on all ranks and threads; the counts depend on neither.
///
/// The planes of x are divided into buckets. Particles are taken in small blocks. A block whose particles are
/// all in a few buckets, as neighbours on the initial lattice are, is counted at once by a thread that holds
/// these buckets exclusively. Others fill chunks that are sorted by bucket; when a round's chunks are full,
/// each bucket of all of them is counted by one thread, in its cache and without atomics.
///
/// Memory of a rank besides its counts: 4 bytes for each particle in a round's chunks, and 0.4 MB per thread;
/// with several ranks also 4 bytes for each particle that is sent and for each that arrives. A round sorts at
/// most 2^22 particles over all ranks, or 2^15 per rank if that is more.
class ParticleCounter {
 public:
  static constexpr std::size_t kRound = std::size_t{1} << 22;  ///< particles that all ranks sort in a round
  /// Memory that a rank allocates when all ranks count `particles` together, including its counts [bytes].
  static std::uint64_t memory_bytes(const core::GridSpec& spec, std::uint64_t particles, int ranks,
                                    int threads);

  /// Rank r counts the planes core::slab_of(n, r, ranks). Collective over comm, which must outlive this.
  /// Throws Error{config} for more than 2^32 cells per rank.
  ParticleCounter(const core::Communicator& comm, const core::GridSpec& spec);

  /// Counts this rank's positions (particles, 3), in the unit of spec.box_size and wrapped periodically if
  /// outside the box. T is float or double. Collective.
  /// Throws, on every rank, Error{numeric} for a position that is not finite.
  template <class T>
  void add(std::span<const T> positions);

  /// The counts of all that was added. Collective. Throws, on every rank, Error{numeric} for a count above
  /// 65535.
  CountGrid finish() &&;

 private:
  /// The buckets of every plane and rank.
  struct Layout {
    Layout(int cells_per_side, int ranks);
    std::size_t buckets() const { return first_of_rank.back(); }
    std::vector<std::uint16_t> of_plane;
    std::vector<std::size_t> first_of_rank;  ///< first bucket per rank, and the end
  };
  /// Buckets first … last - 1 of this rank.
  struct Buckets {
    std::size_t first = 0, last = 0;
    std::size_t size() const { return last - first; }
  };
  /// What a thread works on.
  struct Chunk {
    explicit Chunk(std::size_t buckets);
    std::size_t size = 0;               ///< number of particles that were not counted at once
    std::uint64_t counted = 0;          ///< number that were, in all chunks of the thread
    Buckets held;                       ///< buckets in which the thread counts
    std::vector<std::uint16_t> planes;  ///< planes of the particles
    std::vector<std::uint32_t> cells;   ///< cells of the particles, modulo 2^32
    std::vector<std::uint32_t> sorted;  ///< cells in the order of their buckets
    std::vector<std::uint32_t> next;    ///< place in `sorted` for the next cell of each bucket
  };
  /// Cells in the order of this rank's buckets: those of bucket b begin at starts[b] and end at starts[b +
  /// 1].
  struct Sorted {
    std::span<const std::uint32_t> cells;
    std::span<const std::uint32_t> starts;
  };
  /// The buckets that threads hold at present.
  class HeldBuckets {
   public:
    explicit HeldBuckets(std::size_t buckets) : taken_(buckets, 0) {}
    /// Releases `held` and takes `asked` unless another thread holds one of these; then keeps `held`.
    bool exchange(Buckets held, Buckets asked);

   private:
    std::mutex mutex_;
    std::vector<char> taken_;
  };

  template <class T>
  bool sort_round(std::span<const T> positions, WorkShares& blocks, std::size_t chunks);
  template <class T>
  bool fill(Chunk& chunk, std::span<const T> positions, WorkShares& blocks);
  template <class T>
  bool fill(Chunk& chunk, std::span<const T> positions);
  void count(std::span<const std::uint32_t> cells);
  bool hold(Chunk& chunk, Buckets asked);
  void count_at_once(Chunk& chunk, std::size_t size);
  void sort(Chunk& chunk, std::span<std::uint32_t> cells, std::span<std::uint32_t> starts) const;
  std::vector<Sorted> own_parts(std::size_t chunks) const;
  std::vector<std::uint32_t> pack(std::size_t chunks, std::vector<int>& sizes) const;
  void exchange(std::size_t chunks, std::vector<Sorted>& parts);
  void count(const std::vector<Sorted>& parts);

  const core::Communicator& comm_;
  CountGrid grid_;
  CellFinder cells_of_;
  Layout layout_;
  std::size_t first_bucket_, own_buckets_;  ///< first bucket and number of buckets of this rank
  std::uint32_t first_cell_;                ///< first cell of this rank, modulo 2^32
  HeldBuckets held_buckets_;
  std::vector<Chunk> chunk_of_thread_;
  core::Buffer<std::uint32_t> sorted_;  ///< cells of the round's chunks
  std::vector<std::uint32_t> starts_;   ///< starts of their buckets (chunks, buckets + 1)
  std::vector<std::uint32_t> arrived_;  ///< cells from other ranks
  std::vector<std::uint32_t> arrived_starts_;
  std::uint64_t counted_ = 0;  ///< number of particles counted in parts
};

}  // namespace cosmo::histogram
