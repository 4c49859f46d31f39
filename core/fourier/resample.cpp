#include "core/fourier/resample.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <numeric>
#include <vector>

#include "core/error.hpp"

namespace cosmo::fourier {

namespace {

using Mode = std::complex<float>;

/// The highest wavenumber below the Nyquist wavenumbers of both sides.
int common_limit(int from, int to) { return (std::min(from, to) - 1) / 2; }

/// Moves modes ky of a mesh to the ranks that have them in another.
class ModeTransfer {
 public:
  ModeTransfer(const FourierMesh& from, const FourierMesh& to)
      : from_(from), to_(to), limit_(common_limit(from.side(), to.side())) {}

  /// Rows (2 limit + 1, limit + 1) of each ky that this rank has in `to`, in the order of arriving(). Collective.
  std::vector<Mode> run() const {
    const core::Communicator& comm = from_.communicator();
    std::vector<int> sent, received;
    std::vector<Mode> leaving;
    for (int rank = 0; rank < comm.size(); ++rank) {
      const std::vector<int> to_rank = common(comm.rank(), rank);
      for (const int ky : to_rank) append(ky, leaving);
      sent.push_back(static_cast<int>(to_rank.size()));
      received.push_back(static_cast<int>(common(rank, comm.rank()).size()));
    }
    const std::size_t width = rows() * row();
    std::vector<Mode> arrived(width *
                              static_cast<std::size_t>(std::accumulate(received.begin(), received.end(), 0)));
    comm.all_to_all(leaving.data(), sent, arrived.data(), received, width);
    return arrived;
  }

  /// The ky that arrive at this rank.
  std::vector<int> arriving() const {
    std::vector<int> all;
    for (int rank = 0; rank < from_.communicator().size(); ++rank) {
      const std::vector<int> part = common(rank, from_.communicator().rank());
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }

  int limit() const { return limit_; }
  std::size_t rows() const { return static_cast<std::size_t>(2 * limit_ + 1); }
  std::size_t row() const { return static_cast<std::size_t>(limit_ + 1); }

 private:
  static bool has(int side, int rank, int ranks, int ky) {
    return core::slab_of(side, rank, ranks).contains(ky < 0 ? ky + side : ky);
  }
  /// The ky that one rank has in `from` and another in `to`.
  std::vector<int> common(int source, int target) const {
    const int ranks = from_.communicator().size();
    std::vector<int> found;
    for (int ky = -limit_; ky <= limit_; ++ky) {
      if (has(from_.side(), source, ranks, ky) && has(to_.side(), target, ranks, ky)) found.push_back(ky);
    }
    return found;
  }
  void append(int ky, std::vector<Mode>& modes) const {
    for (int kx = -limit_; kx <= limit_; ++kx) {
      const Mode* source = from_.mode_row(kx, ky);
      modes.insert(modes.end(), source, source + row());
    }
  }

  const FourierMesh& from_;
  const FourierMesh& to_;
  int limit_;
};

}  // namespace

void resample_at_centres(const FourierMesh& from, FourierMesh& to) {
  core::ensure(from.grid().box_size == to.grid().box_size, core::Fault::internal,
               "Meshes of different boxes cannot be resampled.");
  const ModeTransfer transfer(from, to);
  const std::vector<Mode> arrived = transfer.run();
  const std::vector<int> columns = transfer.arriving();
  const int limit = transfer.limit();
  std::vector<Mode> phase;  // of half a cell of `to`
  for (int k = -limit; k <= limit; ++k)
    phase.push_back(Mode(std::polar(1.0, std::numbers::pi * k / to.side())));
  const auto of = [&](int k) { return phase[static_cast<std::size_t>(k + limit)]; };
  to.for_each_mode([](int, int, int, Mode& mode) { mode = 0; });
#pragma omp parallel for schedule(static)
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const Mode* source = &arrived[c * transfer.rows() * transfer.row()];
    for (int kx = -limit; kx <= limit; ++kx) {
      Mode* row = to.mode_row(kx, columns[c]);
      const Mode turned = of(kx) * of(columns[c]);
      for (int kz = 0; kz <= limit; ++kz) row[kz] = *source++ * (turned * of(kz));
    }
  }
}

std::uint64_t resampling_memory(int from, int to, int ranks) {
  const auto limit = static_cast<std::uint64_t>(common_limit(from, to));
  const std::uint64_t modes = (2 * limit + 1) * (2 * limit + 1) * (limit + 1);
  return 2 * sizeof(Mode) * (modes / static_cast<std::uint64_t>(ranks) + (2 * limit + 1) * (limit + 1));
}

}  // namespace cosmo::fourier
