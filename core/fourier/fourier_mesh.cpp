#include "core/fourier/fourier_mesh.hpp"

#include <fftw3.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "core/error.hpp"

namespace cosmo::fourier {

namespace {

/// Columns of kz that one transform along x takes at once: whole cache lines, and few enough to stay in L2.
constexpr int kBlock = 16;
/// Bytes that the transpose may use for each of its two buffers, unless a single cache line a row needs more.
constexpr std::size_t kTransposeBytes = std::size_t{32} << 20;

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

  // Planned on scratch of the size of one plane or block; executed on data equally aligned.
  const int sides[] = {n, n};
  const int complex_rows[] = {n, static_cast<int>(stride_)};
  const int real_rows[] = {n, static_cast<int>(row_stride())};
  auto* plane = as_fftw(data_.data());
  auto* reals = reinterpret_cast<float*>(data_.data());
  plane_forward_.reset(
      fftwf_plan_many_dft_r2c(2, sides, 1, reals, real_rows, 1, 0, plane, complex_rows, 1, 0, FFTW_ESTIMATE));
  plane_backward_.reset(
      fftwf_plan_many_dft_c2r(2, sides, 1, plane, complex_rows, 1, 0, reals, real_rows, 1, 0, FFTW_ESTIMATE));
  core::Buffer<Complex> scratch(static_cast<std::size_t>(n) * kBlock);
  auto* block = as_fftw(scratch.data());
  const auto plan_x = [&](int sign) {
    return fftwf_plan_many_dft(1, sides, kBlock, block, nullptr, kBlock, 1, block, nullptr, kBlock, 1, sign,
                               FFTW_ESTIMATE);
  };
  x_forward_.reset(plan_x(FFTW_FORWARD));
  x_backward_.reset(plan_x(FFTW_BACKWARD));
  core::ensure(plane_forward_ && plane_backward_ && x_forward_ && x_backward_, core::Fault::internal,
               "FFTW has no plan for a side of {}.", n);
}

std::size_t FourierMesh::slab_bytes(int side, int ranks) {
  const auto planes = static_cast<std::size_t>((side + ranks - 1) / ranks);
  return planes * static_cast<std::size_t>(side) * row_stride_for(side) * sizeof(Complex);
}

void FourierMesh::forward() {
  transform_planes(plane_forward_.get(), true);
  exchange_slabs();
  transform_x(x_forward_.get(), static_cast<float>(1.0 / static_cast<double>(grid_.cells())));
}

void FourierMesh::backward() {
  transform_x(x_backward_.get(), 1.0f);
  exchange_slabs();
  transform_planes(plane_backward_.get(), false);
}

void FourierMesh::transform_planes(fftwf_plan_s* plan, bool forward) {
#pragma omp parallel for schedule(static)
  for (int x = slab_.first; x < slab_.last; ++x) {
    Complex* plane = real_start(x, 0);
    if (forward) {
      fftwf_execute_dft_r2c(plan, reinterpret_cast<float*>(plane), as_fftw(plane));
    } else {
      fftwf_execute_dft_c2r(plan, as_fftw(plane), reinterpret_cast<float*>(plane));
    }
  }
}

/// Transforms along x, in blocks of kBlock columns made contiguous, and multiplies by factor.
void FourierMesh::transform_x(fftwf_plan_s* plan, float factor) {
  const int n = side();
  const int columns = n / 2 + 1;
#pragma omp parallel
  {
    core::Buffer<Complex> block(static_cast<std::size_t>(n) * kBlock);
#pragma omp for collapse(2) schedule(static)
    for (int y = slab_.first; y < slab_.last; ++y) {
      for (int first = 0; first < columns; first += kBlock) {
        const int width = std::min(kBlock, columns - first);
        for (int x = 0; x < n; ++x) {
          Complex* line = block.data() + static_cast<std::ptrdiff_t>(x) * kBlock;
          std::copy_n(mode_start(x, y) + first, width, line);
          std::fill_n(line + width, kBlock - width, Complex{});
        }
        fftwf_execute_dft(plan, as_fftw(block.data()), as_fftw(block.data()));
        for (int x = 0; x < n; ++x) {
          const Complex* line = block.data() + static_cast<std::ptrdiff_t>(x) * kBlock;
          Complex* modes = mode_start(x, y) + first;
          for (int column = 0; column < width; ++column) modes[column] = factor * line[column];
        }
      }
    }
  }
}

/// Swaps the roles of x and y between ranks: row (x of slab, y) becomes row (y of slab, x). Both axes are
/// dealt out alike, so a rank has as many rows after as before, and a chunk of columns can be replaced once
/// it is packed.
void FourierMesh::exchange_slabs() {
  if (comm_->size() == 1) return;
  const auto columns = static_cast<std::size_t>(side() / 2 + 1);
  // Slabs may differ by a plane: the largest decides the width, the same on every rank.
  const auto most_planes = static_cast<std::size_t>((side() + comm_->size() - 1) / comm_->size());
  const std::size_t column_bytes = most_planes * static_cast<std::size_t>(side()) * sizeof(Complex);
  const std::size_t chunk =
      std::min(columns, std::max<std::size_t>(8, kTransposeBytes / column_bytes / 8 * 8));
  const std::size_t rows = row_index(slab_.size(), 0);
  core::Buffer<Complex> send(rows * chunk), receive(rows * chunk);
  for (std::size_t first = 0; first < columns; first += chunk) {
    exchange_columns(first, std::min(chunk, columns - first), send.data(), receive.data());
  }
}

void FourierMesh::exchange_columns(std::size_t first, std::size_t width, Complex* send, Complex* receive) {
  const int planes = slab_.size();
  std::vector<int> counts;
  for (int rank = 0; rank < comm_->size(); ++rank) {
    const core::Slab other = core::slab_of(side(), rank, comm_->size());
    counts.push_back(planes * other.size() * static_cast<int>(width));
    Complex* packed =
        send + static_cast<std::size_t>(planes * other.first) * width;  // (x, y of the other's slab)
#pragma omp parallel for schedule(static)
    for (int x = 0; x < planes; ++x) {
      for (int y = other.first; y < other.last; ++y) {
        const auto line = static_cast<std::size_t>(x * other.size() + y - other.first);
        std::copy_n(data_.data() + row_index(x, y) * stride_ + first, width, packed + line * width);
      }
    }
  }
  comm_->all_to_all(send, counts, receive, counts);
  // Rank after rank sent (x of its slab, y of this slab): together (all x, y of this slab).
#pragma omp parallel for schedule(static)
  for (int y = 0; y < planes; ++y) {
    for (int x = 0; x < side(); ++x) {
      const auto line = static_cast<std::size_t>(x * planes + y);
      std::copy_n(receive + line * width, width, data_.data() + row_index(y, x) * stride_ + first);
    }
  }
}

std::string library_version() { return fftwf_version; }

}  // namespace cosmo::fourier
