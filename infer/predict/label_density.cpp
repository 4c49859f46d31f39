#include "infer/predict/label_density.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/random.hpp"
#include "nn/posterior/ball_probability.hpp"

namespace cosmo::infer {

namespace {

constexpr std::uint64_t kSeed = 0;  ///< seed for all draws

nn::Vector vector_of(std::span<const double> labels) {
  nn::Vector vector{};
  std::ranges::copy(labels, vector.begin());
  return vector;
}

/// What each kind of part answers.
struct LogDensity {
  std::span<const double> labels;
  double operator()(const nn::Mixture& mixture) const { return nn::log_density(mixture, vector_of(labels)); }
  double operator()(const GivenPredictions& given) const {
    return given.density->at(given.s).log_density(labels);
  }
};

struct Cumulative {
  std::span<const double> labels;
  std::vector<double> operator()(const nn::Mixture& mixture) const {
    std::vector<double> below;
    for (std::size_t p = 0; p < labels.size(); ++p)
      below.push_back(nn::cumulative(mixture, static_cast<int>(p), labels[p]));
    return below;
  }
  std::vector<double> operator()(const GivenPredictions& given) const {
    const nn::Marginals marginals = given.density->at(given.s).marginals();
    std::vector<double> below;
    for (std::size_t p = 0; p < labels.size(); ++p) below.push_back(marginals.cumulative(p, labels[p]));
    return below;
  }
};

struct BallProbability {
  std::span<const double> point;
  double radius;
  std::uint32_t universe;

  double operator()(const nn::Mixture& mixture) const {
    const core::RandomStream draws(kSeed, core::Purpose::posterior_draw);
    double sum = 0;
    for (const nn::Component& component : mixture)
      sum += component.weight *
             nn::ball_probability(component.gaussian, vector_of(point), radius, draws, universe);
    return sum;
  }
  double operator()(const GivenPredictions& given) const {
    constexpr std::size_t kDraws = 1000;
    const std::vector<double> draws = given.density->at(given.s).samples(kSeed, universe, kDraws);
    std::size_t inside = 0;
    for (std::size_t draw = 0; draw < kDraws; ++draw) {
      double square = 0;
      for (std::size_t p = 0; p < point.size(); ++p)
        square += std::pow(draws[draw * point.size() + p] - point[p], 2);
      if (square < radius * radius) ++inside;
    }
    return static_cast<double>(inside) / kDraws;
  }
};

}  // namespace

double log_density(const LabelDensity& density, std::span<const double> labels) {
  double largest = -std::numeric_limits<double>::infinity();
  std::vector<double> terms;
  for (const DensityPart& part : density) {
    terms.push_back(std::log(part.weight) + std::visit(LogDensity{labels}, part.content));
    largest = std::max(largest, terms.back());
  }
  if (terms.size() == 1 || !std::isfinite(largest)) return largest;
  double sum = 0;
  for (const double term : terms) sum += std::exp(term - largest);
  return largest + std::log(sum);
}

std::vector<double> log_densities(const LabelDensity& density, std::span<const double> labels,
                                  std::size_t parameters) {
  const std::size_t rows = labels.size() / parameters;
  std::vector<double> logs(rows);
  const auto* given = density.size() == 1 ? std::get_if<GivenPredictions>(&density.front().content) : nullptr;
  constexpr std::size_t kTogether = 512;
#pragma omp parallel for schedule(static)
  for (std::size_t first = 0; first < rows; first += kTogether) {
    const std::size_t count = std::min(kTogether, rows - first);
    const std::span<const double> these = labels.subspan(first * parameters, count * parameters);
    if (given != nullptr) {
      std::vector<double> s;
      for (std::size_t row = 0; row < count; ++row) s.insert(s.end(), given->s.begin(), given->s.end());
      std::ranges::copy(given->density->log_density(s, these), &logs[first]);
    } else {
      for (std::size_t row = 0; row < count; ++row)
        logs[first + row] = log_density(density, these.subspan(row * parameters, parameters));
    }
  }
  return logs;
}

std::vector<double> cumulative(const LabelDensity& density, std::span<const double> labels) {
  std::vector<double> below(labels.size());
  for (const DensityPart& part : density) {
    const std::vector<double> of_part = std::visit(Cumulative{labels}, part.content);
    for (std::size_t p = 0; p < below.size(); ++p) below[p] += part.weight * of_part[p];
  }
  return below;
}

double ball_probability(const LabelDensity& density, std::span<const double> point, double radius,
                        std::uint32_t universe) {
  double sum = 0;
  for (const DensityPart& part : density)
    sum += part.weight * std::visit(BallProbability{point, radius, universe}, part.content);
  return std::min(sum, 1.0);
}

LabelMoments moments_of(const GivenPredictions& given) {
  const nn::Marginals marginals = given.density->at(given.s).marginals();
  return {{marginals.mean().begin(), marginals.mean().end()},
          {marginals.covariance().begin(), marginals.covariance().end()}};
}

}  // namespace cosmo::infer
