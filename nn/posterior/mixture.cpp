#include "nn/posterior/mixture.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace cosmo::nn {

namespace {

double log_density_of(const Component& component, const Vector& x) {
  return log_density(component.gaussian, component.inside.log_mass, x);
}

}  // namespace

Component component(double weight, const TruncatedGaussian& gaussian) {
  return {weight, gaussian, moments_of(gaussian)};
}

MixtureMoments moments_of(const Mixture& mixture) {
  const auto n = static_cast<std::size_t>(mixture.front().gaussian.parameters);
  MixtureMoments all{};
  for (const Component& own : mixture) {
    for (std::size_t i = 0; i < n; ++i) all.mean[i] += own.weight * own.inside.mean[i];
  }
  for (const Component& own : mixture) {
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        const double between = (own.inside.mean[i] - all.mean[i]) * (own.inside.mean[j] - all.mean[j]);
        all.covariance[i][j] += own.weight * (own.inside.covariance[i][j] + between);
      }
    }
  }
  return all;
}

double log_density(std::span<const Component> mixture, const Vector& x) {
  double highest = -std::numeric_limits<double>::infinity(), sum = 0;
  for (const Component& own : mixture)
    highest = std::max(highest, std::log(own.weight) + log_density_of(own, x));
  for (const Component& own : mixture)
    sum += std::exp(std::log(own.weight) + log_density_of(own, x) - highest);
  return highest + std::log(sum);
}

double responsibility(const Component& component, double log_density, const Vector& x) {
  return std::exp(std::log(component.weight) + log_density_of(component, x) - log_density);
}

double cumulative(const Mixture& mixture, int parameter, double value) {
  double sum = 0;
  for (const Component& own : mixture)
    sum += own.weight * cumulative(own.gaussian, own.inside.log_mass, parameter, value);
  return std::min(sum, 1.0);
}

Mixture mapped(const Mixture& mixture, const Vector& about, const Matrix& map) {
  Mixture result;
  for (const Component& own : mixture)
    result.push_back(component(own.weight, mapped(own.gaussian, about, map)));
  return result;
}

Mixture average(std::span<const Mixture> mixtures) {
  const auto parts = static_cast<double>(mixtures.size());
  Mixture all;
  std::vector<double> log_weights;
  for (std::size_t k = 0; k < mixtures.front().size(); ++k) {
    std::vector<TruncatedGaussian> gaussians;
    for (const Mixture& mixture : mixtures) gaussians.push_back(mixture[k].gaussian);
    all.push_back(component(1, average(gaussians)));
    // The geometric mean is the average's density up to a factor, which is the same at any point.
    const Vector& anywhere = all.back().inside.mean;
    log_weights.push_back(-log_density_of(all.back(), anywhere));
    for (const Mixture& mixture : mixtures)
      log_weights.back() += (std::log(mixture[k].weight) + log_density_of(mixture[k], anywhere)) / parts;
  }
  const double highest = std::ranges::max(log_weights);
  double sum = 0;
  for (const double log_weight : log_weights) sum += std::exp(log_weight - highest);
  for (std::size_t k = 0; k < all.size(); ++k) all[k].weight = std::exp(log_weights[k] - highest) / sum;
  return all;
}

Mixture pooled(std::span<const Mixture> mixtures) {
  Mixture all;
  for (const Mixture& mixture : mixtures) {
    for (Component own : mixture) {
      own.weight /= static_cast<double>(mixtures.size());
      all.push_back(own);
    }
  }
  return all;
}

}  // namespace cosmo::nn
