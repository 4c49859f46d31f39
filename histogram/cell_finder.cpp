#include "histogram/cell_finder.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <type_traits>

namespace cosmo::histogram {

namespace {
constexpr std::size_t kGroup = 32;  ///< particles whose cells are found again if one is uncertain
}

CellFinder::CellFinder(const core::GridSpec& spec)
    : cells_(spec.cells_per_side),
      box_(spec.box_size),
      cell_(spec.cell_size()),
      inverse_cell_(spec.cells_per_side / spec.box_size) {}

template <class T>
int CellFinder::operator()(T x) const {
  double position = x;
  const double highest = std::max(box_, static_cast<double>(static_cast<T>(box_)));  // L, perhaps rounded up
  if (!(position >= 0 && position <= highest)) {
    if (!std::isfinite(position)) return -1;
    position -= box_ * std::floor(position / box_);
  }
  // The product may round across an edge; numpy compares with the edges themselves.
  const int cell = std::min(static_cast<int>(position * inverse_cell_), cells_ - 1);
  if (position < cell * cell_) return cell - 1;
  if (cell + 1 < cells_ && position >= (cell + 1) * cell_) return cell + 1;
  return cell;
}

/// Finds the cells of kGroup particles; returns false if one is uncertain.
template <class T>
#if defined(__x86_64__) && !defined(__clang__)  // others have no such option
[[gnu::target("prefer-vector-width=512")]]
#endif
bool CellFinder::find_roughly(
    const T* __restrict positions, std::uint16_t* __restrict planes, std::uint32_t* __restrict cells) const {
  const auto n = static_cast<std::uint32_t>(cells_);
  const T inverse = static_cast<T>(inverse_cell_), top = static_cast<T>(cells_);
  // x / cell is rounded twice, in the factor and in the product; edges in double are rounded twice more, and
  // the distance below once, slightly. Farther than that from the edges the cell is certain; nearer, or
  // outside the box, it is not.
  constexpr T kRoundings = static_cast<T>(std::is_same_v<T, float> ? 1.3 : 2.3);
  const T certain = T{0.5} - kRoundings * top * std::numeric_limits<T>::epsilon();
  const T bottom = certain - 1;  // outside cell 0, though it truncates to 0
  T farthest = 0;                // from the middle of its cell
#pragma omp simd reduction(max : farthest)
  for (std::size_t p = 0; p < kGroup; ++p) {
    std::uint32_t cell = 0;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      T scaled = positions[3 * p + axis] * inverse;
      scaled = scaled > bottom ? scaled : bottom;  // also replaces a NaN
      scaled = scaled < top ? scaled : top;
      const int whole = static_cast<int>(scaled);
      const T distance = std::abs(scaled - static_cast<T>(whole) - T{0.5});
      farthest = distance > farthest ? distance : farthest;
      cell = cell * n + static_cast<std::uint32_t>(whole);
      if (axis == 0) planes[p] = static_cast<std::uint16_t>(whole);
    }
    cells[p] = cell;
  }
  return farthest < certain;
}

/// The same for any number of particles by operator(); returns false if a coordinate is not finite.
template <class T>
bool CellFinder::find_exactly(std::span<const T> positions, std::uint16_t* planes,
                              std::uint32_t* cells) const {
  const auto n = static_cast<std::uint32_t>(cells_);
  bool finite = true;
  for (std::size_t p = 0; 3 * p < positions.size(); ++p) {
    std::array<std::uint32_t, 3> along;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const int cell = (*this)(positions[3 * p + axis]);
      finite = finite && cell >= 0;
      along[axis] = static_cast<std::uint32_t>(cell);
    }
    planes[p] = static_cast<std::uint16_t>(along[0]);
    cells[p] = (along[0] * n + along[1]) * n + along[2];
  }
  return finite;
}

template <class T>
bool CellFinder::find(std::span<const T> positions, std::span<std::uint16_t> planes,
                      std::span<std::uint32_t> cells) const {
  bool finite = true;
  for (std::size_t first = 0; first < planes.size(); first += kGroup) {
    const std::size_t size = std::min(kGroup, planes.size() - first);
    if (size == kGroup && find_roughly(&positions[3 * first], &planes[first], &cells[first])) continue;
    finite = find_exactly(positions.subspan(3 * first, 3 * size), &planes[first], &cells[first]) && finite;
  }
  return finite;
}

template int CellFinder::operator()(float) const;
template int CellFinder::operator()(double) const;
template bool CellFinder::find(std::span<const float>, std::span<std::uint16_t>,
                               std::span<std::uint32_t>) const;
template bool CellFinder::find(std::span<const double>, std::span<std::uint16_t>,
                               std::span<std::uint32_t>) const;

}  // namespace cosmo::histogram
