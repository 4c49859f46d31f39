#include "nn/posterior/ball_probability.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "nn/posterior/ordered_gaussian.hpp"
#include "nn/posterior/truncated_normal.hpp"

namespace cosmo::nn {

namespace {

constexpr std::uint32_t kDraws = 1000;

struct Draw {
  double log_weight = 0;
  double square = 0;  ///< squared distance from the point
};

Draw draw(const Ordered& ordered, const Vector& point, const core::RandomStream& stream, std::uint32_t index,
          std::uint32_t number) {
  const auto& [n, place, centre, low, high, factor] = ordered;
  Draw made;
  Vector z{};
  for (std::size_t k = 0; k < n; ++k) {
    double mean = centre[k];
    for (std::size_t j = 0; j < k; ++j) mean += factor[k][j] * z[j];
    const double deviation = factor[k][k];
    if (k > 0)  // the first variable's is the same for all draws
      made.log_weight += truncated_normal((low[k] - mean) / deviation, (high[k] - mean) / deviation).log_mass;
    const double x = draw_normal({low[k], high[k]}, mean, deviation, stream,
                                 {index, number, static_cast<std::uint32_t>(k)});
    z[k] = (x - mean) / deviation;
    made.square += std::pow(x - point[place[k]], 2);
  }
  return made;
}

}  // namespace

double ball_probability(const TruncatedGaussian& gaussian, const Vector& point, double radius,
                        const core::RandomStream& stream, std::uint32_t index) {
  const Ordered ordered = order(gaussian);
  std::array<Draw, kDraws> draws;
  for (std::uint32_t number = 0; number < kDraws; ++number)
    draws[number] = draw(ordered, point, stream, index, number);
  const double highest = std::ranges::max(draws, {}, &Draw::log_weight).log_weight;
  double all = 0, inside = 0;
  for (const Draw& one : draws) {
    const double weight = std::exp(one.log_weight - highest);
    all += weight;
    if (one.square < radius * radius) inside += weight;
  }
  return inside / all;
}

}  // namespace cosmo::nn
