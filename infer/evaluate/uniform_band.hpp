#pragma once
// Whether numbers between 0 and 1 may be uniform.

#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace cosmo::infer {

/// Probability that a normal variable is within one and two standard deviations of its mean.
inline constexpr double kWithin1Sigma = 0.6826894921370859, kWithin2Sigma = 0.9544997361036416;
/// Lengths of intervals about 0.5.
inline constexpr std::array<double, 2> kIntervals = {kWithin1Sigma, kWithin2Sigma};

/// What is counted for numbers in [0, 1]: those in each of kBins equal bins, those below each edge between
/// two of them, or those in each of kIntervals.
enum class Counted { in_bins, below_edges, in_intervals };
inline constexpr std::size_t kBins = 20;

/// Whether a number is in an interval of this length about 0.5.
bool is_within(double number, double length);

/// Counts, (20) in bins, (19) below edges or (2) in intervals. A number that is exactly 1 is in the last bin.
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
