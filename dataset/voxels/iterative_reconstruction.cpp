#include "dataset/voxels/iterative_reconstruction.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <numbers>
#include <numeric>

#include "dataset/voxels/cloud_in_cell.hpp"
#include "dataset/voxels/linear_displacement.hpp"

namespace cosmo::dataset {

namespace {

constexpr double kLargestPart = 2;   ///< in units of a voxel's mean mass
constexpr double kPartsAVoxel = 2;   ///< for the memory: 1.7 to 1.8 are usual
constexpr float kLeastMass = 0.05f;  ///< that of a cell whose displacement counts in full

}  // namespace

IterativeReconstruction::IterativeReconstruction(double smoothing, int side)
    : smoothing_(smoothing),
      self_(std::make_unique<core::Communicator>(core::Communicator::self())),
      delta_(*self_, {side, static_cast<double>(side)}),
      component_(*self_, {side, static_cast<double>(side)}),
      field_(cells_of(side)),
      density_(cells_of(side)) {}

std::size_t IterativeReconstruction::memory_bytes(std::size_t voxels) {
  const auto side = static_cast<int>(std::lround(std::cbrt(static_cast<double>(voxels))));
  return voxels * (sizeof(Vector) + sizeof(float)) +
         static_cast<std::size_t>(kPartsAVoxel * static_cast<double>(voxels)) * sizeof(Part) +
         2 * fourier::FourierMesh::memory_bytes(side, 1);
}

template <class T>
std::span<const float> IterativeReconstruction::apply(std::span<const T> box) {
  const double mean = std::accumulate(box.begin(), box.end(), 0.0) /
                      static_cast<double>(std::max<std::size_t>(1, box.size()));
  if (mean == 0) {
    std::ranges::fill(density_.span(), 0.0f);
    return density_.span();
  }
  divide(box, mean);
  for (const double smoothing : {2 * smoothing_, smoothing_}) {
    assign_mass();
    move_back(smoothing);
  }
  assign_mass();
  assign_displacements();
  for (std::size_t axis = 0; axis < 3; ++axis) add_divergence(axis);
  return density_.span();
}

template std::span<const float> IterativeReconstruction::apply(std::span<const std::uint16_t>);
template std::span<const float> IterativeReconstruction::apply(std::span<const float>);

/// The parts of each voxel's mass, evenly in the voxel, whose centre is the node.
template <class T>
void IterativeReconstruction::divide(std::span<const T> box, double mean) {
  const auto n = static_cast<std::size_t>(side());
  parts_.clear();
  for (std::size_t i = 0; i < box.size(); ++i) {
    const double mass = static_cast<double>(box[i]) / mean;
    if (!(mass > 0)) continue;
    const int each = std::max(1, static_cast<int>(std::ceil(std::cbrt(mass / kLargestPart))));
    const auto of = [each](std::size_t node, int part) {
      return static_cast<float>(static_cast<double>(node) + (part + 0.5) / each - 0.5);
    };
    const auto share = static_cast<float>(mass / (each * each * each));
    for (int a = 0; a < each; ++a)
      for (int b = 0; b < each; ++b)
        for (int c = 0; c < each; ++c)
          parts_.push_back({{of(i / (n * n), a), of(i / n % n, b), of(i % n, c)}, {0, 0, 0}, share});
  }
}

/// density_ is the contrast of the parts' mass.
void IterativeReconstruction::assign_mass() {
  const std::span<float> density = density_.span();
  std::ranges::fill(density, -1.0f);
  for (const Part& part : parts_)
    for_each_cell(part.place, side(),
                  [&](std::size_t cell, float share) { density[cell] += part.mass * share; });
}

/// Moves the parts against the displacements of density_ in linear theory.
void IterativeReconstruction::move_back(double smoothing) {
  for_each_row(delta_, [&](std::size_t first, float* row, std::size_t size) {
    std::copy_n(density_.data() + first, size, row);
  });
  delta_.forward();
  for (std::size_t axis = 0; axis < 3; ++axis) {
    linear_displacement(delta_, axis, smoothing, component_);
    for_each_row(component_, [&](std::size_t first, const float* row, std::size_t size) {
      for (std::size_t z = 0; z < size; ++z) field_.data()[first + z][axis] = row[z];
    });
  }
  for (Part& part : parts_) {
    Vector displacement = {};
    for_each_cell(part.place, side(),
                  [&](std::size_t cell, float share) { displacement += share * field_.data()[cell]; });
    for (std::size_t axis = 0; axis < 3; ++axis) {
      part.place[axis] -= displacement[axis];
      part.moved[axis] += displacement[axis];
    }
  }
}

/// field_ is what the mass in each cell has moved, on average.
void IterativeReconstruction::assign_displacements() {
  const std::span<Vector> field = field_.span();
  std::ranges::fill(field, Vector{});
  for (const Part& part : parts_) {
    const Vector moved = {part.mass * part.moved[0], part.mass * part.moved[1], part.mass * part.moved[2],
                          part.mass};
    for_each_cell(part.place, side(), [&](std::size_t cell, float share) { field[cell] += share * moved; });
  }
  for (Vector& cell : field) cell /= std::max(cell[3], kLeastMass);
}

/// density_ −= ∂/∂x of field_'s component along x, or y or z.
void IterativeReconstruction::add_divergence(std::size_t axis) {
  const int n = side();
  const double unit = 2 * std::numbers::pi / n;
  for_each_row(delta_, [&](std::size_t first, float* row, std::size_t size) {
    for (std::size_t z = 0; z < size; ++z) row[z] = field_.data()[first + z][axis];
  });
  delta_.forward();
  component_.backward_from(delta_, [&](int kx, int ky, int kz, Modes mode) {
    const std::array<int, 3> k = {kx, ky, kz};
    if (2 * std::abs(k[axis]) == n) return Modes();
    const auto slope = static_cast<float>(unit * k[axis]);
    return Modes(slope * mode.imag(), -slope * mode.real());
  });
  for_each_row(component_, [&](std::size_t first, const float* row, std::size_t size) {
    for (std::size_t z = 0; z < size; ++z) density_.data()[first + z] += row[z];
  });
}

}  // namespace cosmo::dataset
