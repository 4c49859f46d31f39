#pragma once
// Universes that began with the same phases are found by their content: however they differ in parameters, their matter lies in
// the same places.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace cosmo::histogram {

/// Two universes whose phases are the same, or opposite ones, by the correlation of their coarse cells.
struct SharedPhases {
  std::size_t first, second;  ///< their places in the list
  double correlation;
};

struct PhaseFinding {
  std::size_t universes = 0;  ///< that were compared, each with each: all, or kMostCompared of them evenly
  int cells = 0;              ///< per side
  double deviation = 0;       ///< that correlations have by chance
  bool conclusive = false;    ///< whether chance is small enough
  std::vector<SharedPhases> pairs;

  /// What was compared, for a summary: "1,279,200 pairs of 1,600 universes by 8³ cells, 0 share their phases".
  std::string text() const;
};

/// Universes of which each is compared with each: a minute on two cores.
inline constexpr std::size_t kMostCompared = 10'000;

/// Compares the sketches of cubes (universes, cells³), in the logarithms of their cells (counts: log(1 + n); a field: the same of the
/// distance from zero in units of its mean, with the sign). Phases are shared where |r| exceeds both 0.5 and eight deviations of
/// the correlations that there are by chance, of pairs of which one is shifted by a quarter of the cube and more. If those have
/// fewer than 100 modes (a deviation above 0.1) in 8³ cells, 16³ are compared; if those have, too, the comparison is not conclusive.
/// The result does not depend on the number of threads.
PhaseFinding find_shared_phases(std::span<const float> sketches, std::size_t universes, bool counts);

}  // namespace cosmo::histogram
