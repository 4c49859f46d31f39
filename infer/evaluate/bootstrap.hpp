#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/random.hpp"

namespace cosmo::infer {

/// Standard deviations of the figures of all universes when these are drawn with replacement: 1000 resamples,
/// the same for every call with this number of universes, so that methods may be compared. `Sums` of each
/// universe has add(Sums) and figures(), a std::array<double, N>. NaN for a single universe and for figures that are not
/// finite.
template <class Sums>
auto bootstrap_errors(const std::vector<Sums>& universes) {
  constexpr int kResamples = 1000;
  const core::RandomStream stream(0, core::Purpose::bootstrap);
  decltype(Sums{}.figures()) mean{}, square{}, errors{};
  for (std::uint32_t resample = 0; resample < kResamples; ++resample) {
    Sums drawn;
    for (std::uint32_t i = 0; i < universes.size(); ++i) {
      const double place = stream.uniform({resample, i, 0}) * static_cast<double>(universes.size());
      drawn.add(universes[static_cast<std::size_t>(place)]);
    }
    const auto figures = drawn.figures();
    for (std::size_t f = 0; f < mean.size(); ++f) {
      mean[f] += figures[f] / kResamples;
      square[f] += figures[f] * figures[f] / kResamples;
    }
  }
  // Drawing n of n makes the spread of a mean (n - 1)/n of its variance.
  const double n = static_cast<double>(universes.size());
  const double correction = n > 1 ? std::sqrt(n / (n - 1)) : std::numeric_limits<double>::quiet_NaN();
  for (std::size_t f = 0; f < mean.size(); ++f) {
    const double variance = square[f] - mean[f] * mean[f];
    errors[f] = correction * std::sqrt(variance < 0 ? 0 : variance);
  }
  return errors;
}

}  // namespace cosmo::infer
