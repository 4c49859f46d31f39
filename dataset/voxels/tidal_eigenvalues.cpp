#include "dataset/voxels/tidal_eigenvalues.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdlib>
#include <numbers>
#include <numeric>

#include "dataset/voxels/linear_displacement.hpp"

namespace cosmo::dataset {

namespace {

constexpr std::array<std::array<std::size_t, 2>, 6> kComponents = {
    {{0, 0}, {1, 1}, {2, 2}, {0, 1}, {0, 2}, {1, 2}}};
constexpr std::size_t kTidalMeshes = 2;

}  // namespace

std::array<float, 3> eigenvalues(const std::array<float, 6>& matrix) {
  const auto [xx, yy, zz, xy, xz, yz] = matrix;
  const float mean = (xx + yy + zz) / 3, a = xx - mean, b = yy - mean, c = zz - mean;
  const float off = xy * xy + xz * xz + yz * yz;
  const float spread = std::sqrt((a * a + b * b + c * c + 2 * off) / 6);
  if (spread == 0) return {mean, mean, mean};
  const float determinant = a * (b * c - yz * yz) - xy * (xy * c - yz * xz) + xz * (xy * yz - b * xz);
  const float cosine = std::clamp(determinant / (2 * spread * spread * spread), -1.0f, 1.0f);
  const float angle = std::acos(cosine) / 3;
  const float largest = mean + 2 * spread * std::cos(angle);
  const float smallest = mean + 2 * spread * std::cos(angle + 2 * std::numbers::pi_v<float> / 3);
  return {largest, 3 * mean - largest - smallest, smallest};
}

TidalEigenvalues::TidalEigenvalues(double smoothing, int side)
    : smoothing_(smoothing),
      self_(std::make_unique<core::Communicator>(core::Communicator::self())),
      delta_(*self_, {side, static_cast<double>(side)}),
      component_(*self_, {side, static_cast<double>(side)}),
      tensor_(kComponents.size() * cells_of(side)) {}

std::size_t TidalEigenvalues::memory_bytes(std::size_t voxels) {
  const auto side = static_cast<int>(std::lround(std::cbrt(static_cast<double>(voxels))));
  return kComponents.size() * voxels * sizeof(float) + kTidalMeshes * fourier::FourierMesh::memory_bytes(side, 1);
}

/// A component of the tensor, in its place. Waves at the Nyquist wavenumber of an axis have no slope along it.
void TidalEigenvalues::differentiate(std::size_t component) {
  const int n = side();
  const double unit = 2 * std::numbers::pi / n;
  const auto [first, second] = kComponents[component];
  component_.backward_from(delta_, [&](int kx, int ky, int kz, std::complex<float> mode) {
    const std::array<int, 3> k = {kx, ky, kz};
    const double square = kx * kx + ky * ky + kz * kz;
    const bool seen = first == second || (2 * std::abs(k[first]) != n && 2 * std::abs(k[second]) != n);
    if (square == 0 || !seen) return std::complex<float>();
    const double smooth = std::exp(-square * std::pow(unit * smoothing_, 2) / 2);
    return mode * static_cast<float>(smooth * k[first] * k[second] / square);
  });
  float* const values = tensor_.data() + component * cells_of(n);
  for_each_row(component_, [&](std::size_t at, const float* row, std::size_t size) {
    std::copy_n(row, size, values + at);
  });
}

template <class T>
std::span<const float> TidalEigenvalues::apply(std::span<const T> box) {
  const double sum = std::accumulate(box.begin(), box.end(), 0.0);
  const double factor = sum > 0 ? static_cast<double>(box.size()) / sum : 0;
  for_each_row(delta_, [&](std::size_t at, float* row, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i)
      row[i] = sum > 0 ? static_cast<float>(static_cast<double>(box[at + i]) * factor - 1) : 0.0f;
  });
  delta_.forward();
  for (std::size_t component = 0; component < kComponents.size(); ++component) differentiate(component);
  const std::size_t cells = box.size();
  const std::span<float> tensor = tensor_.span();
  for (std::size_t i = 0; i < cells; ++i) {
    std::array<float, kComponents.size()> matrix;
    for (std::size_t c = 0; c < matrix.size(); ++c) matrix[c] = tensor[c * cells + i];
    const std::array<float, 3> found = eigenvalues(matrix);
    for (std::size_t c = 0; c < found.size(); ++c) tensor[c * cells + i] = found[c];
  }
  return tensor.first(3 * cells);
}

template std::span<const float> TidalEigenvalues::apply(std::span<const std::uint16_t>);
template std::span<const float> TidalEigenvalues::apply(std::span<const float>);

}  // namespace cosmo::dataset
