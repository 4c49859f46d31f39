#pragma once

#include <complex>
#include <functional>
#include <memory>
#include <numbers>
#include <string>
#include <utility>

#include "core/buffer.hpp"
#include "core/fourier/lines.hpp"
#include "core/grid.hpp"
#include "core/parallel/communicator.hpp"

struct fftwf_plan_s;

namespace cosmo::fourier {

/// A periodic real field (n, n, n) and its Fourier-series coefficients, in the same float memory.
///
/// field(x) = Σ modes(k) exp(ikx). In real space each rank holds the x planes of slab(); in Fourier space it
/// holds all kx for the ky indices of slab(), and 0 <= kz <= n/2. Rows run along z on 64-byte boundaries with
/// room for at least kRowRoom values after the n-th. Every rank and thread count gives the same bits: the
/// rows of each plane and each block of lines are transformed on their own by one FFTW_ESTIMATE plan
/// (measured plans, and plans for whole slabs, differ from run to run and from layout to layout). Lines are
/// made contiguous first: FFTW's estimated plans are then close to its best, and two to four times faster
/// than with strides.
///
/// The communicator must outlive the mesh.
class FourierMesh {
 public:
  /// Spare floats in a row beyond its n values: enough for a periodic copy of its first values.
  static constexpr int kRowRoom = 7;

  /// Values are not initialised. Throws Error{config} if a side has fewer than 4 cells or fewer planes than
  /// ranks.
  FourierMesh(const core::Communicator& comm, core::GridSpec grid);

  /// Memory of one plane of a slab [bytes].
  static std::size_t plane_bytes(int side);
  /// Memory of the largest slab when `ranks` share a mesh, plus its exchange buffers [bytes].
  static std::size_t memory_bytes(int side, int ranks);

  const core::Communicator& communicator() const { return *comm_; }
  const core::GridSpec& grid() const { return grid_; }
  int side() const { return grid_.cells_per_side; }
  /// The planes of x (real space) and of ky (Fourier space) on this rank.
  core::Slab slab() const { return slab_; }
  /// Smallest wavenumber that fits the box, 2π/L [h/Mpc].
  double fundamental() const { return 2 * std::numbers::pi / grid_.box_size; }

  /// Function of a plane x of slab(), called from many threads.
  using PlaneWork = std::function<void(int x)>;

  /// Transforms the real field to modes; `prepare` is called just before a plane is transformed. Collective
  /// over the communicator.
  void forward(const PlaneWork& prepare = {});
  /// Transforms modes to the real field; `finish` is called just after each plane. Collective.
  void backward(const PlaneWork& finish = {});
  /// Applies map(kx, ky, kz, mode) to each mode of `source`, a mesh of the same shape, then does backward(),
  /// without a separate pass for the map. kx, ky, kz are as in for_each_mode.
  template <class Map>
  void backward_from(const FourierMesh& source, Map&& map, const PlaneWork& finish = {});
  /// forward(), multiplication of every mode by the real factor(kx, ky, kz), and backward(), in three passes
  /// over memory instead of five. kx, ky, kz are as in for_each_mode.
  template <class Factor>
  void convolve(const PlaneWork& prepare, Factor&& factor);

  /// Frees the buffers that the transforms between ranks keep for the next one.
  void free_exchange_buffers() { send_ = core::Buffer<Complex>(), receive_ = core::Buffer<Complex>(); }

  /// The n values along z at plane x of slab() and 0 <= y < n.
  float* row(int x, int y) { return reinterpret_cast<float*>(real_start(x, y)); }
  const float* row(int x, int y) const { return reinterpret_cast<const float*>(real_start(x, y)); }
  /// Distance between consecutive rows [floats]; a plane is side() consecutive rows.
  std::size_t row_stride() const { return 2 * stride_; }

  /// The modes kz = 0 … n/2 at signed wavenumbers kx and ky, with ky's index in slab().
  std::complex<float>* mode_row(int kx, int ky) { return mode_start(index_of(kx), index_of(ky)); }
  const std::complex<float>* mode_row(int kx, int ky) const { return mode_start(index_of(kx), index_of(ky)); }

  /// Calls f(x, y, float* row) for every row of the rank's slab, from many threads.
  template <class F>
  void for_each_row(F&& f);
  /// Calls f(kx, ky, std::complex<float>* modes) for every row of n/2 + 1 modes kz = 0 … n/2, from many
  /// threads. kx and ky are signed, in units of fundamental(); the Nyquist mode of an even side is +n/2.
  template <class F>
  void for_each_mode_row(F&& f) {
    visit_mode_rows(*this, f);
  }
  template <class F>
  void for_each_mode_row(F&& f) const {
    visit_mode_rows(*this, f);
  }
  /// Calls f(kx, ky, kz, std::complex<float>& mode) for every mode of the rank, from many threads.
  template <class F>
  void for_each_mode(F&& f);

 private:
  using Complex = std::complex<float>;
  struct DestroyPlan {
    void operator()(fftwf_plan_s* plan) const;
  };
  using Plan = std::unique_ptr<fftwf_plan_s, DestroyPlan>;

  const Complex* real_start(int x, int y) const {
    return data_.data() + row_index(x - slab_.first, y) * stride_;
  }
  Complex* real_start(int x, int y) { return data_.data() + row_index(x - slab_.first, y) * stride_; }
  /// Several ranks hold modes as (y, x, kz); one rank leaves them as (x, y, kz).
  const Complex* mode_start(int x, int y) const {
    return data_.data() + (comm_->size() > 1 ? row_index(y - slab_.first, x) : row_index(x, y)) * stride_;
  }
  Complex* mode_start(int x, int y) { return const_cast<Complex*>(std::as_const(*this).mode_start(x, y)); }
  std::size_t row_index(int plane, int line) const {
    return static_cast<std::size_t>(plane) * static_cast<std::size_t>(side()) +
           static_cast<std::size_t>(line);
  }
  int wavenumber(int index) const { return 2 * index <= side() ? index : index - side(); }

  int index_of(int wavenumber) const { return wavenumber < 0 ? wavenumber + side() : wavenumber; }

  template <class Mesh, class F>
  static void visit_mode_rows(Mesh& mesh, F& f);
  void planes_forward(const PlaneWork& prepare);
  void planes_backward(const PlaneWork& finish = {});
  /// Calls work(ky, first kz, block) for all modes, from many threads. Each block (kLines kz,
  /// line_distance(n)) of lines along kx is copied out of `source` before and into this mesh afterwards.
  template <class Work>
  void for_each_block(const FourierMesh& source, Work&& work);
  /// One past the last kz of the block that begins at `first`: the last block may have fewer than kLines
  /// lines.
  int end_of_block(int first) const { return std::min(first + kLines, side() / 2 + 1); }
  core::Buffer<Complex> block() const { return core::Buffer<Complex>(kLines * line_distance(side())); }
  void transform_columns(int x, fftwf_plan_s* plan, Complex* lines);
  void transform(fftwf_plan_s* plan, Complex* lines) const;
  void exchange_slabs();
  void exchange_columns(std::size_t first, std::size_t width);

  const core::Communicator* comm_;
  core::GridSpec grid_;
  core::Slab slab_;
  std::size_t stride_;  ///< distance between rows [complex values]
  core::Buffer<Complex> data_;
  core::Buffer<Complex> send_, receive_;  ///< buffers of the transpose between ranks
  Plan rows_forward_, rows_backward_;     ///< all rows of a plane, along z
  Plan lines_forward_, lines_backward_;   ///< a block of lines, along y or x
};

template <class F>
void FourierMesh::for_each_row(F&& f) {
  const int n = side();
#pragma omp parallel for collapse(2) schedule(static)
  for (int x = slab_.first; x < slab_.last; ++x) {
    for (int y = 0; y < n; ++y) f(x, y, row(x, y));
  }
}

template <class Mesh, class F>
void FourierMesh::visit_mode_rows(Mesh& mesh, F& f) {
  const int n = mesh.side();
#pragma omp parallel for collapse(2) schedule(static)
  for (int y = mesh.slab_.first; y < mesh.slab_.last; ++y) {
    for (int x = 0; x < n; ++x) f(mesh.wavenumber(x), mesh.wavenumber(y), mesh.mode_start(x, y));
  }
}

template <class Work>
void FourierMesh::for_each_block(const FourierMesh& source, Work&& work) {
  const int columns = side() / 2 + 1;
  const std::size_t stride = comm_->size() > 1 ? stride_ : static_cast<std::size_t>(side()) * stride_;
#pragma omp parallel
  {
    core::Buffer<Complex> lines = block();
#pragma omp for collapse(2) schedule(static)
    for (int y = slab_.first; y < slab_.last; ++y) {
      for (int first = 0; first < columns; first += kLines) {
        const int width = end_of_block(first) - first;
        load_lines(source.mode_start(0, y) + first, stride, side(), width, lines.data());
        work(wavenumber(y), first, lines.data());
        store_lines(lines.data(), mode_start(0, y) + first, stride, side(), width);
      }
    }
  }
}

template <class Factor>
void FourierMesh::convolve(const PlaneWork& prepare, Factor&& factor) {
  planes_forward(prepare);
  exchange_slabs();
  const auto norm = static_cast<float>(1.0 / static_cast<double>(grid_.cells()));
  for_each_block(*this, [&](int ky, int first, Complex* lines) {
    transform(lines_forward_.get(), lines);
    for (int kz = first; kz < end_of_block(first); ++kz) {
      Complex* line = lines + static_cast<std::size_t>(kz - first) * line_distance(side());
      for (int x = 0; x < side(); ++x) line[x] *= norm * factor(wavenumber(x), ky, kz);
    }
    transform(lines_backward_.get(), lines);
  });
  exchange_slabs();
  planes_backward();
}

template <class Map>
void FourierMesh::backward_from(const FourierMesh& source, Map&& map, const PlaneWork& finish) {
  for_each_block(source, [&](int ky, int first, Complex* lines) {
    for (int kz = first; kz < end_of_block(first); ++kz) {
      Complex* line = lines + static_cast<std::size_t>(kz - first) * line_distance(side());
      for (int x = 0; x < side(); ++x) line[x] = map(wavenumber(x), ky, kz, line[x]);
    }
    transform(lines_backward_.get(), lines);
  });
  exchange_slabs();
  planes_backward(finish);
}

template <class F>
void FourierMesh::for_each_mode(F&& f) {
  for_each_mode_row([&](int kx, int ky, Complex* modes) {
    for (int kz = 0; kz <= side() / 2; ++kz) f(kx, ky, kz, modes[kz]);
  });
}

/// The FFT library's name and version, for --version.
std::string library_version();

}  // namespace cosmo::fourier
