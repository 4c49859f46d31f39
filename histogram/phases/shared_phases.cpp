#include "histogram/phases/shared_phases.hpp"

#include <omp.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "core/error.hpp"
#include "core/median.hpp"
#include "core/random.hpp"

namespace cosmo::histogram {

namespace {

constexpr double kLeastCorrelation = 0.5, kDeviations = 8, kMostByChance = 0.1;

/// Rows of numbers with mean 0 and norm 1, of `cells`³ each; all 0 for a uniform cube.
struct Maps {
  std::size_t size;
  std::vector<float> values;
  std::vector<double>
      signals;  ///< share of the variance of counts that is not shot noise, which is all that is shared

  const float* row(std::size_t i) const { return values.data() + i * size; }
};

/// A sketch in cells twice as wide.
std::vector<float> halved(std::span<const float> sketch, std::size_t cells) {
  const std::size_t half = cells / 2;
  std::vector<float> sums(half * half * half);
  for (std::size_t i = 0; i < sketch.size(); ++i) {
    const std::size_t x = i / cells / cells, y = i / cells % cells, z = i % cells;
    sums[(x / 2 * half + y / 2) * half + z / 2] += sketch[i];
  }
  return sums;
}

/// The variance of log(1 + n) for n of a Poisson distribution.
double variance_by_chance(double mean) {
  constexpr double kMany = 100;
  if (mean > kMany) return mean / std::pow(1 + mean, 2);
  double probability = std::exp(-mean), sum = 0, square = 0;
  for (int n = 0; n < 4 * kMany; ++n) {
    const double x = std::log1p(n);
    sum += probability * x;
    square += probability * x * x;
    probability *= mean / (n + 1);
  }
  return square - sum * sum;
}

Maps maps_of(std::span<const std::span<const float>> sketches, std::size_t sketch_cells, bool halve,
             bool counts) {
  const std::size_t cells = halve ? sketch_cells / 2 : sketch_cells;
  Maps maps{cells * cells * cells, std::vector<float>(sketches.size() * cells * cells * cells),
            std::vector<double>(sketches.size(), 1.0)};
#pragma omp parallel for schedule(static)
  for (std::size_t u = 0; u < sketches.size(); ++u) {
    const std::vector<float> sums = halve ? halved(sketches[u], sketch_cells)
                                          : std::vector<float>(sketches[u].begin(), sketches[u].end());
    double scale = 1;
    if (!counts) {
      scale = std::accumulate(sums.begin(), sums.end(), 0.0,
                              [](double all, float x) { return all + std::abs(x); }) /
              static_cast<double>(sums.size());
    }
    std::vector<double> logs(sums.size());
    std::ranges::transform(sums, logs.begin(), [&](float x) {
      return scale == 0 ? 0.0 : std::copysign(std::log1p(std::abs(static_cast<double>(x)) / scale), x);
    });
    const double mean = std::accumulate(logs.begin(), logs.end(), 0.0) / static_cast<double>(logs.size());
    double square = 0;
    for (double& x : logs) {
      x -= mean;
      square += x * x;
    }
    const double norm = square > 0 ? 1 / std::sqrt(square) : 0;
    if (counts && square > 0) {
      // What varies by less than random numbers began on a lattice, and has no such noise.
      const double each = std::accumulate(sums.begin(), sums.end(), 0.0) / static_cast<double>(sums.size());
      const double noise = static_cast<double>(sums.size()) * variance_by_chance(each) / square;
      if (noise < 1.05) maps.signals[u] = 1 - noise;
    }
    std::ranges::transform(logs, &maps.values[u * maps.size],
                           [&](double x) { return static_cast<float>(x * norm); });
  }
  return maps;
}

/// The deviation of correlations by chance: of universes with their neighbours in the list, shifted.
double deviation_by_chance(const Maps& maps, std::size_t universes, std::size_t cells) {
  constexpr std::uint32_t kMostPairs = 64, kShifts = 64;
  const core::RandomStream stream(0, core::Purpose::cross_validation);
  std::vector<double> sizes;
  const auto pairs = static_cast<std::uint32_t>(std::min<std::size_t>(kMostPairs, universes));
  for (std::uint32_t p = 0; p < pairs; ++p) {
    const std::size_t i = p * universes / pairs, j = (i + 1) % universes;
    for (std::uint32_t s = 0; s < kShifts; ++s) {
      std::array<std::size_t, 3> shift{};
      for (std::uint32_t axis = 0; axis < 3; ++axis)
        shift[axis] = cells / 4 + static_cast<std::size_t>(stream.uniform({p, s, axis}) *
                                                           static_cast<double>(cells / 2 + 1));
      double sum = 0;
      for (std::size_t c = 0; c < maps.size; ++c) {
        const std::size_t x = (c / cells / cells + shift[0]) % cells, y = (c / cells + shift[1]) % cells,
                          z = (c + shift[2]) % cells;
        // c / cells and c count beyond one axis, which is the same after the remainder
        sum += static_cast<double>(maps.row(i)[c]) * maps.row(j)[(x * cells + y) * cells + z];
      }
      sizes.push_back(std::abs(sum));
    }
  }
  const auto middle = sizes.begin() + static_cast<std::ptrdiff_t>(sizes.size() / 2);
  std::ranges::nth_element(sizes, middle);
  return *middle / 0.6744897501960817;  // of a normal distribution
}

float product(const float* a, const float* b, std::size_t size) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::size_t i = 0; i < size; ++i) sum += a[i] * b[i];
  return sum;
}

/// All pairs beyond a limit, in order.
std::vector<SharedPhases> pairs_beyond(const Maps& maps, std::size_t universes, double limit) {
  constexpr std::size_t kBlock = 32;  // rows that stay in a core's cache
  const std::size_t blocks = (universes + kBlock - 1) / kBlock;
  std::vector<std::vector<SharedPhases>> found(blocks);
#pragma omp parallel for schedule(dynamic, 1)
  for (std::size_t a = 0; a < blocks; ++a) {
    for (std::size_t b = a; b < blocks; ++b) {
      for (std::size_t i = a * kBlock; i < std::min(universes, (a + 1) * kBlock); ++i) {
        for (std::size_t j = std::max(i + 1, b * kBlock); j < std::min(universes, (b + 1) * kBlock); ++j) {
          const double r = product(maps.row(i), maps.row(j), maps.size);
          if (std::abs(r) > limit) found[a].push_back({i, j, r});
        }
      }
    }
  }
  std::vector<SharedPhases> all;
  for (const auto& of_block : found) all.insert(all.end(), of_block.begin(), of_block.end());
  std::ranges::sort(all, {}, [](const SharedPhases& pair) { return std::pair(pair.first, pair.second); });
  return all;
}

}  // namespace

std::string PhaseFinding::text() const {
  const std::string compared =
      fmt::format("{} pairs of {} universes", universes * (universes - 1) / 2, universes);
  if (!conclusive)
    return fmt::format("{}: too few modes or particles to state whether any share their phases", compared);
  return fmt::format("{} by {}³ cells: {} share their phases", compared, cells, pairs.size());
}

PhaseFinding find_shared_phases(std::span<const float> sketches, std::size_t universes, bool counts) {
  PhaseFinding finding;
  finding.universes = std::min(kMostCompared, universes);
  if (finding.universes < 2) return finding;
  const std::size_t size = sketches.size() / universes;
  std::vector<std::size_t> places;
  std::vector<std::span<const float>> chosen;
  for (std::size_t i = 0; i < finding.universes; ++i) {
    places.push_back(i * universes / finding.universes);
    chosen.push_back(sketches.subspan(places.back() * size, size));
  }
  const auto cells = static_cast<std::size_t>(std::lround(std::cbrt(static_cast<double>(size))));
  for (const bool halve : {true, false}) {
    if (halve && cells != 16) continue;
    const Maps maps = maps_of(chosen, cells, halve, counts);
    finding.cells = static_cast<int>(halve ? cells / 2 : cells);
    finding.deviation = deviation_by_chance(maps, finding.universes, static_cast<std::size_t>(finding.cells));
    if (finding.deviation == 0 || finding.deviation > kMostByChance) continue;
    finding.pairs =
        pairs_beyond(maps, finding.universes, std::max(kLeastCorrelation, kDeviations * finding.deviation));
    finding.conclusive = !finding.pairs.empty() || core::median(maps.signals) > kLeastCorrelation;
    for (SharedPhases& pair : finding.pairs)
      pair = {places[pair.first], places[pair.second], pair.correlation};
    break;
  }
  return finding;
}

}  // namespace cosmo::histogram
