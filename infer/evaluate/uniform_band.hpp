#pragma once
// Whether numbers between 0 and 1 may be uniform.

#include <cstddef>
#include <span>
#include <vector>

namespace cosmo::infer {

/// What is counted for numbers in [0, 1]: those in each of kBins equal bins, or those below each edge between
/// two of them.
enum class Counted { in_bins, below_edges };
inline constexpr std::size_t kBins = 20;

/// Counts, (20) in bins or (19) below edges. A number that is exactly 1 is in the last bin.
std::vector<int> count(std::span<const double> numbers, Counted counted);

/// Lowest and highest counts of a band.
struct Band {
  std::vector<int> low, high;

  /// Whether all counts lie within it.
  bool holds(std::span<const int> counts) const;
};

/// The band that holds all counts of `numbers` independent uniform numbers together with a probability of
/// `probability` (more where counts are small, as these are whole; ± 0.3 % from the simulation): each count's central
/// binomial interval, with one level for all of them, which follows from 10,000 simulated sets of numbers, as
/// Säilynoja et al. 2022 (arXiv:2103.10522) do for cumulative counts. A pure function of its arguments.
Band uniform_band(std::size_t numbers, Counted counted, double probability);

}  // namespace cosmo::infer
