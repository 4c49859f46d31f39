#include "dataset/voxels/tidal_eigenvalues.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "core/fourier/web_finder.hpp"
#include "dataset/voxels/linear_displacement.hpp"

namespace cosmo::dataset {

namespace {

using fourier::kTensorComponents;

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
      tensor_(kTensorComponents.size() * cells_of(side)) {}

std::size_t TidalEigenvalues::memory_bytes(std::size_t voxels) {
  const auto side = static_cast<int>(std::lround(std::cbrt(static_cast<double>(voxels))));
  return kTensorComponents.size() * voxels * sizeof(float) +
         kTidalMeshes * fourier::FourierMesh::memory_bytes(side, 1);
}

template <class T>
std::span<const float> TidalEigenvalues::apply(std::span<const T> box) {
  set_contrast(box, delta_);
  delta_.forward();
  fourier::to_tidal_potential(delta_, smoothing_);
  const std::size_t cells = box.size();
  const std::span<float> tensor = tensor_.span();
  for (std::size_t c = 0; c < kTensorComponents.size(); ++c) {
    fourier::tide(delta_, kTensorComponents[c], component_);
    for_each_row(component_, [&](std::size_t first, const float* row, std::size_t size) {
      std::copy_n(row, size, tensor.data() + c * cells + first);
    });
  }
  for (std::size_t i = 0; i < cells; ++i) {
    std::array<float, kTensorComponents.size()> matrix;
    for (std::size_t c = 0; c < matrix.size(); ++c) matrix[c] = tensor[c * cells + i];
    const std::array<float, 3> found = eigenvalues(matrix);
    for (std::size_t c = 0; c < found.size(); ++c) tensor[c * cells + i] = found[c];
  }
  return tensor.first(3 * cells);
}

template std::span<const float> TidalEigenvalues::apply(std::span<const std::uint16_t>);
template std::span<const float> TidalEigenvalues::apply(std::span<const float>);

}  // namespace cosmo::dataset
