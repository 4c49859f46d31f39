#include "nn/density/posterior.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "core/error.hpp"
#include "core/random.hpp"
#include "nn/density/cut_mixture.hpp"

namespace cosmo::nn {

namespace {

constexpr std::size_t kPaths = 1024;  ///< the number that all members have together, or a few more
constexpr std::size_t kDrawsAtOnce = 2048;

/// Goes through the factors of a member with many θ at once: choose(column, parameter, mixture) returns a column's θ_i,
/// given its factor for the θ before it.
template <class Choose>
void walk_factors(const Coordinates& coordinates, std::span<const double> x,
                  const std::vector<FactorNetwork>& member, std::span<const double> widening,
                  std::size_t columns, const Choose& choose) {
  const std::size_t parameters = coordinates.parameters(), features = coordinates.features();
  Columns y(0, static_cast<int>(columns));
  for (std::size_t i = 0; i < parameters; ++i) {
    const double base = coordinates.centre_of(i, x), scale = coordinates.scale_of(i);
    const auto slopes = coordinates.factor().subspan((features + i) * coordinates.size() + features, i);
    FactorPass pass(member[i].shape(), i == 0 ? 1 : y.columns());  // the first factor depends on s alone
    member[i].forward(i == 0 ? Columns(0, 1) : y, pass);
    y.add_row();
    CutMixture mixture = cut_mixture_of(pass.outputs, 0, {base, scale}, widening[i]);
    for (std::size_t column = 0; column < columns; ++column) {
      double centre = base;
      for (std::size_t j = 0; j < i; ++j) centre += slopes[j] * y.row(static_cast<int>(j))[column];
      if (i > 0)
        mixture = cut_mixture_of(pass.outputs, static_cast<int>(column), {centre, scale}, widening[i]);
      y.row(static_cast<int>(i))[column] = (choose(column, i, mixture) - centre) / scale;
    }
  }
}

/// The powers 1/φ, 1/φ² ... where φ is the root of φ^(n+1) = φ + 1: their multiples fill the unit cube evenly.
/// Source: the R-sequence of Roberts 2018 (extremelearning.com.au, "The unreasonable effectiveness of quasirandom
/// sequences"), a Kronecker sequence.
std::vector<double> kronecker_steps(std::size_t dimensions) {
  double root = 1.5;
  for (int i = 0; i < 100; ++i) root = std::pow(1 + root, 1 / (1 + static_cast<double>(dimensions)));
  std::vector<double> steps(dimensions);
  double power = 1;
  for (double& step : steps) step = power /= root;
  return steps;
}

}  // namespace

Posterior::Posterior(Coordinates coordinates, std::vector<double> x,
                     std::vector<std::vector<FactorNetwork>> members, std::vector<double> widening)
    : coordinates_(std::move(coordinates)),
      x_(std::move(x)),
      members_(std::move(members)),
      widening_(std::move(widening)) {}

double Posterior::log_density(std::span<const double> theta) const {
  core::ensure(theta.size() == parameters(), core::Fault::internal,
               "A posterior of {} parameters is asked for the density of {}.", parameters(), theta.size());
  std::vector<double> of_members(members_.size());
  for (std::size_t m = 0; m < members_.size(); ++m) {
    walk_factors(coordinates_, x_, members_[m], widening_, 1,
                 [&](std::size_t, std::size_t i, const CutMixture& mixture) {
                   of_members[m] += mixture.log_density(theta[i]);
                   return theta[i];
                 });
  }
  return log_mean(of_members);
}

std::vector<double> Posterior::samples(std::uint64_t seed, std::uint32_t universe, std::size_t count,
                                       std::uint32_t first) const {
  const core::RandomStream stream(seed, core::Purpose::posterior_sample);
  const std::size_t parameters = coordinates_.parameters();
  std::vector<double> theta(count * parameters);
#pragma omp parallel for schedule(dynamic)
  for (std::size_t start = 0; start < count; start += kDrawsAtOnce) {
    std::vector<std::vector<std::size_t>> chosen(members_.size());
    for (std::size_t n = start; n < std::min(count, start + kDrawsAtOnce); ++n) {
      const double place = stream.uniform({universe, first + static_cast<std::uint32_t>(n), 0});
      chosen[static_cast<std::size_t>(place * static_cast<double>(members_.size()))].push_back(n);
    }
    for (std::size_t m = 0; m < members_.size(); ++m) {
      if (chosen[m].empty()) continue;
      walk_factors(coordinates_, x_, members_[m], widening_, chosen[m].size(),
                   [&](std::size_t column, std::size_t i, const CutMixture& mixture) {
                     const std::size_t n = chosen[m][column];
                     const auto [component, probability] =
                         stream.uniforms({universe, first + static_cast<std::uint32_t>(n),
                                          static_cast<std::uint32_t>(i + 1)});
                     return theta[n * parameters + i] = mixture.draw(component, probability);
                   });
    }
  }
  return theta;
}

Marginals Posterior::marginals() const {
  const std::size_t parameters = coordinates_.parameters(), members = members_.size();
  const std::size_t points = parameters == 1 ? 1 : (kPaths + members - 1) / members;  // of each member
  const std::vector<double> steps = kronecker_steps(std::max<std::size_t>(parameters, 3) - 2);
  std::vector<std::vector<CutMixture>> mixtures(parameters);
  std::vector<double> theta(members * points * parameters);
  for (std::size_t m = 0; m < members; ++m) {
    walk_factors(
        coordinates_, x_, members_[m], widening_, points,
        [&](std::size_t column, std::size_t i, const CutMixture& mixture) {
          if (i > 0 || column == 0) mixtures[i].push_back(mixture);
          if (i + 1 == parameters) return mixture.centres[0];  // on which nothing depends
          // The first number is at the middles of equal parts, as in Hammersley's set.
          const double n = static_cast<double>(m * points + column) + 0.5;
          const double place =
              i == 0 ? (static_cast<double>(column) + 0.5) / static_cast<double>(points) : n * steps[i - 1];
          return theta[(m * points + column) * parameters + i] = mixture.quantile(place - std::floor(place));
        });
  }
  return {std::move(mixtures), theta};
}

}  // namespace cosmo::nn
