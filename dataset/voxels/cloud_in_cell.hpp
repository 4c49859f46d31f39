#pragma once
// Cloud in cell on periodic grids, one particle at a time: the eight cells around a place, and their shares of it.

#include <array>
#include <cmath>
#include <cstddef>

namespace cosmo::dataset {

/// The two cells around a place on a periodic axis, and the share of the second.
struct Cells {
  std::size_t first, second;
  float share;
};

inline Cells cells_at(float place, int side) {
  const float below = std::floor(place);
  const int first = (static_cast<int>(below) % side + side) % side;
  return {static_cast<std::size_t>(first), static_cast<std::size_t>((first + 1) % side), place - below};
}

/// Calls use(cell, share) for the cells of a grid (side, side, side) around a place [cells], whose shares sum to 1.
template <class Use>
void for_each_cell(const std::array<float, 3>& place, int side, Use&& use) {
  const auto n = static_cast<std::size_t>(side);
  const Cells x = cells_at(place[0], side), y = cells_at(place[1], side), z = cells_at(place[2], side);
  for (const bool second_x : {false, true}) {
    for (const bool second_y : {false, true}) {
      const float share = (second_x ? x.share : 1 - x.share) * (second_y ? y.share : 1 - y.share);
      const std::size_t row = ((second_x ? x.second : x.first) * n + (second_y ? y.second : y.first)) * n;
      use(row + z.first, share * (1 - z.share));
      use(row + z.second, share * z.share);
    }
  }
}

}  // namespace cosmo::dataset
