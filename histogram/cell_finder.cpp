#include "histogram/cell_finder.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace cosmo::histogram {

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

template <class T>
bool CellFinder::find(std::span<const T> coordinates, std::span<std::uint16_t> cells) const {
  constexpr std::size_t kGroup = 96;
  const T inverse = static_cast<T>(inverse_cell_), top = static_cast<T>(cells_);
  // x / cell has two roundings, of the factor and of the product. Further than twice that from the edges the
  // cell is certain; nearer, and outside the box, operator() decides for all of the group.
  const T doubt = 2 * top * std::numeric_limits<T>::epsilon(), no_doubt = 1 - doubt;
  bool finite = true;
  for (std::size_t first = 0; first < coordinates.size(); first += kGroup) {
    const std::size_t size = std::min(kGroup, coordinates.size() - first);
    const T* __restrict x = coordinates.data() + first;
    std::uint16_t* __restrict cell = cells.data() + first;
    unsigned doubts = 0;
#pragma omp simd reduction(| : doubts)
    for (std::size_t i = 0; i < size; ++i) {
      T scaled = x[i] * inverse;
      scaled = scaled > 0 ? scaled : 0;  // nor is a NaN
      scaled = scaled < top ? scaled : top;
      const int whole = static_cast<int>(scaled);
      const T rest = scaled - static_cast<T>(whole);
      doubts |= (rest < doubt ? 1u : 0u) | (rest > no_doubt ? 1u : 0u);
      cell[i] = static_cast<std::uint16_t>(whole);
    }
    if (doubts == 0) continue;
    for (std::size_t i = 0; i < size; ++i) {
      const int exact = (*this)(x[i]);
      finite = finite && exact >= 0;
      cell[i] = static_cast<std::uint16_t>(exact);
    }
  }
  return finite;
}

template int CellFinder::operator()(float) const;
template int CellFinder::operator()(double) const;
template bool CellFinder::find(std::span<const float>, std::span<std::uint16_t>) const;
template bool CellFinder::find(std::span<const double>, std::span<std::uint16_t>) const;

}  // namespace cosmo::histogram
