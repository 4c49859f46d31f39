#include "core/fourier/fourier_mesh.hpp"

#include <fftw3.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "core/error.hpp"

namespace cosmo::fourier {

namespace {

/// Bytes that the transpose may use for each of its two buffers, unless a single cache line a row needs more.
constexpr std::size_t kTransposeBytes = std::size_t{32} << 20;

/// Columns of kz that ranks exchange at a time.
std::size_t exchange_width(int side, int ranks) {
  const auto n = static_cast<std::size_t>(side);
  // Slabs may differ by a plane: the largest decides the width, the same on every rank.
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

std::size_t FourierMesh::memory_bytes(int side, int ranks) {
  const auto rows = static_cast<std::size_t>((side + ranks - 1) / ranks) * static_cast<std::size_t>(side);
  const std::size_t exchanged = ranks > 1 ? 2 * exchange_width(side, ranks) : 0;
  return rows * (row_stride_for(side) + exchanged) * sizeof(Complex);
}

void FourierMesh::forward(const PlaneWork& prepare) {
  planes_forward(prepare);
  exchange_slabs();
  const auto norm = static_cast<float>(1.0 / static_cast<double>(grid_.cells()));
  for_each_block(*this, [&](int, int, Complex* block) {
    block_forward(block);
    for (std::ptrdiff_t i = 0; i < static_cast<std::ptrdiff_t>(side()) * kBlock; ++i) block[i] *= norm;
  });
}

void FourierMesh::backward(const PlaneWork& finish) {
  for_each_block(*this, [&](int, int, Complex* block) { block_backward(block); });
  exchange_slabs();
  planes_backward(finish);
}

void FourierMesh::planes_forward(const PlaneWork& prepare) {
#pragma omp parallel for schedule(static)
  for (int x = slab_.first; x < slab_.last; ++x) {
    if (prepare) prepare(x);
    fftwf_execute_dft_r2c(plane_forward_.get(), row(x, 0), as_fftw(real_start(x, 0)));
  }
}

void FourierMesh::planes_backward(const PlaneWork& finish) {
#pragma omp parallel for schedule(static)
  for (int x = slab_.first; x < slab_.last; ++x) {
    fftwf_execute_dft_c2r(plane_backward_.get(), as_fftw(real_start(x, 0)), row(x, 0));
    if (finish) finish(x);
  }
}

void FourierMesh::load_block(int y, int first, Complex* block) const {
  const int width = side() / 2 + 1 - first;
  for (int x = 0; x < side(); ++x, block += kBlock) {
    const Complex* modes = mode_start(x, y) + first;
    if (width >= kBlock) {
      std::memcpy(block, modes, kBlock * sizeof(Complex));  // of known length, and so without a call
    } else {
      std::fill(std::copy_n(modes, width, block), block + kBlock, Complex{});
    }
  }
}

void FourierMesh::store_block(int y, int first, const Complex* block) {
  const int width = side() / 2 + 1 - first;
  for (int x = 0; x < side(); ++x, block += kBlock) {
    Complex* modes = mode_start(x, y) + first;
    if (width >= kBlock) {
      std::memcpy(modes, block, kBlock * sizeof(Complex));
    } else {
      std::copy_n(block, width, modes);
    }
  }
}

void FourierMesh::block_forward(Complex* block) const {
  fftwf_execute_dft(x_forward_.get(), as_fftw(block), as_fftw(block));
}

void FourierMesh::block_backward(Complex* block) const {
  fftwf_execute_dft(x_backward_.get(), as_fftw(block), as_fftw(block));
}

/// Swaps the roles of x and y between ranks: row (x of slab, y) becomes row (y of slab, x). Both axes are
/// dealt out alike, so a rank has as many rows after as before, and a chunk of columns can be replaced once
/// it is packed.
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
  // Rank after rank sent (x of its slab, y of this slab): together (all x, y of this slab).
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
