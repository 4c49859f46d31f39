#pragma once

#include <cstdint>
#include <span>

#include "core/grid.hpp"

namespace cosmo::histogram {

/// Finds the cell of a coordinate along one axis as numpy.histogramdd does. Edges are the doubles i (L/n), a
/// cell contains its lower edge, and x == L belongs to the last cell: such a float is a tiny negative value
/// that was wrapped and rounded up. T is float or double; coordinates are in the unit of the box.
class CellFinder {
 public:
  explicit CellFinder(const core::GridSpec& spec);

  /// Cell of x, wrapped periodically if outside [0, L]; -1 if x is not finite.
  template <class T>
  int operator()(T x) const;

  /// Finds the cells of `positions` (particles, 3): writes those along x to `planes` (particles), and
  /// (x n + y) n + z modulo 2^32 to `cells` (particles). If a coordinate is not finite, returns false and its
  /// cell is arbitrary.
  template <class T>
  bool find(std::span<const T> positions, std::span<std::uint16_t> planes,
            std::span<std::uint32_t> cells) const;

 private:
  template <class T>
  bool find_roughly(const T* positions, std::uint16_t* planes, std::uint32_t* cells) const;
  template <class T>
  bool find_exactly(std::span<const T> positions, std::uint16_t* planes, std::uint32_t* cells) const;

  int cells_;
  double box_;
  double cell_;
  double inverse_cell_;
};

}  // namespace cosmo::histogram
