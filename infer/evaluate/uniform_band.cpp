#include "infer/evaluate/uniform_band.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/random.hpp"

namespace cosmo::infer {

namespace {

constexpr std::uint32_t kSets = 10000;

/// Probabilities that a binomial variable is at most and at least each count, (trials + 1).
struct Tails {
  std::vector<double> below, above;

  double least(int count) const {
    const auto at = static_cast<std::size_t>(count);
    return std::min(below[at], above[at]);
  }
};

Tails tails_of(std::size_t trials, double probability) {
  const auto n = static_cast<double>(trials);
  std::vector<double> mass;
  for (double x = 0; x <= n; ++x) {
    mass.push_back(std::exp(std::lgamma(n + 1) - std::lgamma(x + 1) - std::lgamma(n - x + 1) +
                            x * std::log(probability) + (n - x) * std::log1p(-probability)));
  }
  Tails tails{std::vector<double>(mass.size()), std::vector<double>(mass.size())};
  std::partial_sum(mass.begin(), mass.end(), tails.below.begin());
  std::partial_sum(mass.rbegin(), mass.rend(), tails.above.rbegin());
  return tails;
}

/// The tails for each count.
std::vector<Tails> all_tails(std::size_t numbers, Counted counted) {
  constexpr double kBin = 1.0 / kBins;
  if (counted == Counted::in_bins) return std::vector<Tails>(kBins, tails_of(numbers, kBin));
  std::vector<Tails> tails;
  if (counted == Counted::in_intervals) {
    for (const double length : kIntervals) tails.push_back(tails_of(numbers, length));
    return tails;
  }
  for (std::size_t edge = 1; edge < kBins; ++edge)
    tails.push_back(tails_of(numbers, kBin * static_cast<double>(edge)));
  return tails;
}

}  // namespace

bool is_within(double number, double length) { return std::abs(2 * number - 1) < length; }

std::vector<int> count(std::span<const double> numbers, Counted counted) {
  if (counted == Counted::in_intervals) {
    std::vector<int> counts;
    for (const double length : kIntervals) {
      const auto inside = [&](double number) { return is_within(number, length); };
      counts.push_back(static_cast<int>(std::ranges::count_if(numbers, inside)));
    }
    return counts;
  }
  std::vector<int> counts(kBins, 0);
  for (const double number : numbers) ++counts[std::min(static_cast<std::size_t>(number * kBins), kBins - 1)];
  if (counted == Counted::in_bins) return counts;
  std::partial_sum(counts.begin(), counts.end(), counts.begin());
  counts.pop_back();
  return counts;
}

bool Band::holds(std::span<const int> counts) const {
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] < low[i] || counts[i] > high[i]) return false;
  }
  return true;
}

Band uniform_band(std::size_t numbers, Counted counted, double probability) {
  const core::RandomStream stream(0, core::Purpose::uniform_band);
  const std::vector<Tails> tails = all_tails(numbers, counted);
  std::vector<double> extremes(kSets);  // for each set, the least tail among its counts
#pragma omp parallel for schedule(static)
  for (std::uint32_t set = 0; set < kSets; ++set) {
    std::vector<double> drawn(numbers);
    for (std::uint32_t i = 0; i < numbers; ++i) drawn[i] = stream.uniform({set, i, 0});
    const std::vector<int> counts = count(drawn, counted);
    extremes[set] = 1;
    for (std::size_t i = 0; i < counts.size(); ++i)
      extremes[set] = std::min(extremes[set], tails[i].least(counts[i]));
  }
  std::ranges::sort(extremes);
  const double level = extremes[static_cast<std::size_t>((1 - probability) * kSets)];
  Band band;
  for (const Tails& of : tails) {
    const auto first = std::ranges::lower_bound(of.below, level) - of.below.begin();
    const auto last = std::ranges::lower_bound(of.above.rbegin(), of.above.rend(), level);
    band.low.push_back(static_cast<int>(first));
    band.high.push_back(static_cast<int>(of.above.rend() - last) - 1);
  }
  return band;
}

}  // namespace cosmo::infer
