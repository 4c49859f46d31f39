#include "core/fourier/fourier_mesh.hpp"

#include <fftw3.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "core/error.hpp"

namespace cosmo::fourier {

namespace {

/// Size limit of each of the transpose's two buffers [bytes], unless one cache line per row needs more.
constexpr std::size_t kTransposeBytes = std::size_t{32} << 20;

/// Number of columns of kz that ranks exchange at a time.
std::size_t exchange_width(int side, int ranks) {
  const auto n = static_cast<std::size_t>(side);
  // Slabs may differ by a plane: the largest one determines the width, which is the same on every rank.
  const std::size_t most_planes = (n + static_cast<std::size_t>(ranks) - 1) / static_cast<std::size_t>(ranks);
  const std::size_t column_bytes = most_planes * n * sizeof(std::complex<float>);
  return std::min(n / 2 + 1, std::max<std::size_t>(8, kTransposeBytes / column_bytes / 8 * 8));
}

fftwf_complex* as_fftw(std::complex<float>* values) { return reinterpret_cast<fftwf_complex*>(values); }

std::size_t row_stride_for(int side) {
  const auto values = static_cast<std::size_t>((side + FourierMesh::kRowRoom + 1) / 2);  // more than n/2 + 1
  return (values + 7) / 8 * 8;
}

}  // namespace

void FourierMesh::DestroyPlan::operator()(fftwf_plan_s* plan) const { fftwf_destroy_plan(plan); }

FourierMesh::FourierMesh(const core::Communicator& comm, core::GridSpec grid)
    : comm_(&comm), grid_(grid), slab_(core::slab_of(grid.cells_per_side, comm.rank(), comm.size())) {
  const int n = side();
  core::ensure(n >= 4, core::Fault::config, "A mesh of {} cells per side is too small: use 4 or more.", n);
  core::ensure(n >= comm.size(), core::Fault::config,
               "{} ranks share a mesh of {} planes: use at most {} ranks or a larger mesh.", comm.size(), n,
               n);
  stride_ = row_stride_for(n);
  data_ = core::Buffer<Complex>(row_index(slab_.size(), 0) * stride_);

  // Planned on scratch memory of one plane or block; executed on data with the same alignment.
  const int sides[] = {n};
  auto* plane = as_fftw(data_.data());
  auto* reals = reinterpret_cast<float*>(data_.data());
  const auto modes_apart = static_cast<int>(stride_), values_apart = static_cast<int>(row_stride());
  rows_forward_.reset(fftwf_plan_many_dft_r2c(1, sides, n, reals, nullptr, 1, values_apart, plane, nullptr, 1,
                                              modes_apart, FFTW_ESTIMATE));
  rows_backward_.reset(fftwf_plan_many_dft_c2r(1, sides, n, plane, nullptr, 1, modes_apart, reals, nullptr, 1,
                                               values_apart, FFTW_ESTIMATE));
  core::Buffer<Complex> scratch = block();
  auto* lines = as_fftw(scratch.data());
  const auto plan_lines = [&](int sign) {
    const auto apart = static_cast<int>(line_distance(n));
    return fftwf_plan_many_dft(1, sides, kLines, lines, nullptr, 1, apart, lines, nullptr, 1, apart, sign,
                               FFTW_ESTIMATE);
  };
  lines_forward_.reset(plan_lines(FFTW_FORWARD));
  lines_backward_.reset(plan_lines(FFTW_BACKWARD));
  core::ensure(rows_forward_ && rows_backward_ && lines_forward_ && lines_backward_, core::Fault::internal,
               "FFTW has no plan for a side of {}.", n);
}

std::size_t FourierMesh::plane_bytes(int side) {
  return static_cast<std::size_t>(side) * row_stride_for(side) * sizeof(Complex);
}

std::size_t FourierMesh::memory_bytes(int side, int ranks) {
  const auto rows = static_cast<std::size_t>((side + ranks - 1) / ranks) * static_cast<std::size_t>(side);
  const std::size_t exchanged = ranks > 1 ? 2 * exchange_width(side, ranks) : 0;
  return rows * (row_stride_for(side) + exchanged) * sizeof(Complex);
}

void FourierMesh::forward(const PlaneWork& prepare) {
  planes_forward(prepare);
  exchange_slabs();
  const auto norm = static_cast<float>(1.0 / static_cast<double>(grid_.cells()));
  for_each_block(*this, [&](int, int, Complex* lines) {
    transform(lines_forward_.get(), lines);
    for (std::size_t i = 0; i < kLines * line_distance(side()); ++i) lines[i] *= norm;
  });
}

void FourierMesh::backward(const PlaneWork& finish) {
  for_each_block(*this, [&](int, int, Complex* lines) { transform(lines_backward_.get(), lines); });
  exchange_slabs();
  planes_backward(finish);
}

void FourierMesh::planes_forward(const PlaneWork& prepare) {
#pragma omp parallel
  {
    core::Buffer<Complex> lines = block();
#pragma omp for schedule(static)
    for (int x = slab_.first; x < slab_.last; ++x) {
      if (prepare) prepare(x);
      fftwf_execute_dft_r2c(rows_forward_.get(), row(x, 0), as_fftw(real_start(x, 0)));
      transform_columns(x, lines_forward_.get(), lines.data());
    }
  }
}

void FourierMesh::planes_backward(const PlaneWork& finish) {
#pragma omp parallel
  {
    core::Buffer<Complex> lines = block();
#pragma omp for schedule(static)
    for (int x = slab_.first; x < slab_.last; ++x) {
      transform_columns(x, lines_backward_.get(), lines.data());
      fftwf_execute_dft_c2r(rows_backward_.get(), as_fftw(real_start(x, 0)), row(x, 0));
      if (finish) finish(x);
    }
  }
}

/// Transforms plane x along y.
void FourierMesh::transform_columns(int x, fftwf_plan_s* plan, Complex* lines) {
  const int columns = side() / 2 + 1;
  for (int first = 0; first < columns; first += kLines) {
    const int width = end_of_block(first) - first;
    load_lines(real_start(x, 0) + first, stride_, side(), width, lines);
    transform(plan, lines);
    store_lines(lines, real_start(x, 0) + first, stride_, side(), width);
  }
}

void FourierMesh::transform(fftwf_plan_s* plan, Complex* lines) const {
  fftwf_execute_dft(plan, as_fftw(lines), as_fftw(lines));
}

/// Swaps the roles of x and y between ranks: row (x of slab, y) becomes row (y of slab, x). Both axes are
/// divided alike, so a rank's number of rows does not change, and a chunk of columns can be replaced once it
/// is packed.
void FourierMesh::exchange_slabs() {
  if (comm_->size() == 1) return;
  const auto columns = static_cast<std::size_t>(side() / 2 + 1);
  const std::size_t width = exchange_width(side(), comm_->size());
  const std::size_t values = row_index(slab_.size(), 0) * width;
  if (send_.size() == 0) send_ = core::Buffer<Complex>(values), receive_ = core::Buffer<Complex>(values);
  for (std::size_t first = 0; first < columns; first += width) {
    exchange_columns(first, std::min(width, columns - first));
  }
}

void FourierMesh::exchange_columns(std::size_t first, std::size_t width) {
  const int planes = slab_.size();
  std::vector<int> counts;
  for (int rank = 0; rank < comm_->size(); ++rank) {
    const core::Slab other = core::slab_of(side(), rank, comm_->size());
    counts.push_back(planes * other.size() * static_cast<int>(width));
    Complex* packed =
        send_.data() + static_cast<std::size_t>(planes * other.first) * width;  // (x, y of the other's slab)
#pragma omp parallel for schedule(static)
    for (int x = 0; x < planes; ++x) {
      for (int y = other.first; y < other.last; ++y) {
        const auto line = static_cast<std::size_t>(x * other.size() + y - other.first);
        std::copy_n(data_.data() + row_index(x, y) * stride_ + first, width, packed + line * width);
      }
    }
  }
  comm_->all_to_all(send_.data(), counts, receive_.data(), counts);
  // Each rank in turn sent (x of its slab, y of this slab): together (all x, y of this slab).
#pragma omp parallel for schedule(static)
  for (int y = 0; y < planes; ++y) {
    for (int x = 0; x < side(); ++x) {
      const auto line = static_cast<std::size_t>(x * planes + y);
      std::copy_n(receive_.data() + line * width, width, data_.data() + row_index(y, x) * stride_ + first);
    }
  }
}

std::string library_version() { return fftwf_version; }

}  // namespace cosmo::fourier
