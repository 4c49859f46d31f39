#include "dataset/voxels/reconstruction.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "core/parallel/communicator.hpp"
#include "dataset/voxels/cloud_in_cell.hpp"
#include "dataset/voxels/linear_displacement.hpp"

namespace cosmo::dataset {

namespace {

constexpr std::size_t kBuffers = 5, kMeshes = 2;

}  // namespace

Reconstruction::Reconstruction(double smoothing, int side)
    : smoothing_(smoothing),
      self_(std::make_unique<core::Communicator>(core::Communicator::self())),
      delta_(*self_, {side, static_cast<double>(side)}),
      component_(*self_, {side, static_cast<double>(side)}),
      excess_(cells_of(side)),
      moved_(cells_of(side)) {
  for (core::Buffer<float>& axis : displacement_) axis = core::Buffer<float>(cells_of(side));
}

std::size_t Reconstruction::memory_bytes(std::size_t voxels) {
  const auto side = static_cast<int>(std::lround(std::cbrt(static_cast<double>(voxels))));
  return kBuffers * voxels * sizeof(float) + kMeshes * fourier::FourierMesh::memory_bytes(side, 1);
}

template <class T>
std::span<const float> Reconstruction::apply(std::span<const T> box) {
  const double sum = std::accumulate(box.begin(), box.end(), 0.0);
  const double factor = sum > 0 ? static_cast<double>(box.size()) / sum : 0;
  for (std::size_t i = 0; i < box.size(); ++i)
    excess_.span()[i] = sum > 0 ? static_cast<float>(static_cast<double>(box[i]) * factor - 1) : 0.0f;
  for_each_row(delta_, [&](std::size_t first, float* row, std::size_t size) {
    std::copy_n(excess_.data() + first, size, row);
  });
  delta_.forward();
  for (std::size_t axis = 0; axis < 3; ++axis) displace(axis);
  move(excess_.span());
  return moved_.span();
}

template std::span<const float> Reconstruction::apply(std::span<const std::uint16_t>);
template std::span<const float> Reconstruction::apply(std::span<const float>);

void Reconstruction::displace(std::size_t axis) {
  linear_displacement(delta_, axis, smoothing_, component_);
  for_each_row(component_, [&](std::size_t first, const float* row, std::size_t size) {
    std::copy_n(row, size, displacement_[axis].data() + first);
  });
}

/// Assigns the excess of each voxel to the voxels around the place that it came from.
void Reconstruction::move(std::span<const float> excess) {
  const auto n = static_cast<std::size_t>(side());
  const std::span<float> to = moved_.span();
  std::ranges::fill(to, 0.0f);
  const auto came_from = [&](std::size_t axis, std::size_t node, std::size_t i) {
    return static_cast<float>(node) - displacement_[axis].span()[i];
  };
  for (std::size_t i = 0; i < excess.size(); ++i)
    for_each_cell({came_from(0, i / (n * n), i), came_from(1, i / n % n, i), came_from(2, i % n, i)}, side(),
                  [&](std::size_t cell, float share) { to[cell] += excess[i] * share; });
}

}  // namespace cosmo::dataset
