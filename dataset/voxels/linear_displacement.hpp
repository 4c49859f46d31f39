#pragma once
// Densities of periodic cubes and their displacements in linear theory, which reconstructions move mass back by.

#include <array>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdlib>
#include <numbers>
#include <numeric>
#include <span>

#include "core/fourier/fourier_mesh.hpp"

namespace cosmo::dataset {

inline std::size_t cells_of(int side) {
  const auto n = static_cast<std::size_t>(side);
  return n * n * n;
}

/// Calls use(first, row, n) for every row of a mesh of one rank, whose values belong to the cells from `first` on.
template <class Use>
void for_each_row(fourier::FourierMesh& mesh, Use&& use) {
  const auto n = static_cast<std::size_t>(mesh.side());
  mesh.for_each_row([&](int x, int y, float* row) {
    use((static_cast<std::size_t>(x) * n + static_cast<std::size_t>(y)) * n, row, n);
  });
}

/// The density contrast of counts, or of densities that are not negative, on a mesh of one rank; zeros if they are empty. T is
/// std::uint16_t or float.
template <class T>
void set_contrast(std::span<const T> box, fourier::FourierMesh& mesh) {
  const double mean = std::accumulate(box.begin(), box.end(), 0.0) / static_cast<double>(box.size());
  for_each_row(mesh, [&](std::size_t first, float* row, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i)
      row[i] = mean > 0 ? static_cast<float>(static_cast<double>(box[first + i]) / mean - 1) : 0.0f;
  });
}

/// component = ψ along an axis [cells], ψ(k) = i k / k² exp(−k² R² / 2) δ(k), of the modes of a density contrast and R in cells.
/// A Nyquist wave has no direction and is left out.
inline void linear_displacement(const fourier::FourierMesh& delta, std::size_t axis, double smoothing,
                                fourier::FourierMesh& component) {
  const int n = delta.side();
  const double unit = 2 * std::numbers::pi / n;
  component.backward_from(delta, [&](int kx, int ky, int kz, std::complex<float> mode) {
    const std::array<int, 3> k = {kx, ky, kz};
    const double square = unit * unit * (kx * kx + ky * ky + kz * kz);
    if (square == 0 || 2 * std::abs(k[axis]) == n) return std::complex<float>();
    const double weight = unit * k[axis] / square * std::exp(-square * smoothing * smoothing / 2);
    return std::complex<float>(static_cast<float>(-weight) * mode.imag(),
                               static_cast<float>(weight) * mode.real());
  });
}

}  // namespace cosmo::dataset
