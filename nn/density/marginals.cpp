#include "nn/density/marginals.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace cosmo::nn {

Marginals::Marginals(std::vector<std::vector<CutMixture>> mixtures, std::span<const double> theta)
    : mixtures_(std::move(mixtures)), covariance_(mixtures_.size() * mixtures_.size()) {
  const std::size_t parameters = mixtures_.size(), paths = theta.size() / parameters;
  const auto all = static_cast<double>(paths);
  std::vector<double> path_mean(parameters);  // of the paths' own θ
  for (std::size_t i = 0; i < theta.size(); ++i) path_mean[i % parameters] += theta[i] / all;
  for (std::size_t i = 0; i < parameters; ++i) {
    const std::size_t share = paths / mixtures_[i].size();  // paths that a mixture stands for
    double mean = 0, square = 0;
    std::vector<double> with(i);
    for (std::size_t n = 0; n < paths; n += share) {
      const auto [centre, variance] = mixtures_[i][n / share].moments();
      const double weight = static_cast<double>(share) / all;
      mean += weight * centre;
      square += weight * (variance + centre * centre);
      for (std::size_t j = 0; j < i; ++j)
        with[j] += weight * centre * (theta[n * parameters + j] - path_mean[j]);
    }
    mean_.push_back(mean);
    covariance_[i * parameters + i] = square - mean * mean;
    for (std::size_t j = 0; j < i; ++j)
      covariance_[i * parameters + j] = covariance_[j * parameters + i] = with[j];
  }
}

double Marginals::cumulative(std::size_t parameter, double value) const {
  double total = 0;
  for (const CutMixture& mixture : mixtures_[parameter]) total += mixture.cumulative(value);
  return total / static_cast<double>(mixtures_[parameter].size());
}

double Marginals::density(std::size_t parameter, double value) const {
  double total = 0;
  for (const CutMixture& mixture : mixtures_[parameter]) total += std::exp(mixture.log_density(value));
  return total / static_cast<double>(mixtures_[parameter].size());
}

double Marginals::quantile(std::size_t parameter, double probability) const {
  return invert_cumulative([&](double x) { return cumulative(parameter, x); },
                           [&](double x) { return density(parameter, x); }, mean_[parameter], probability);
}

}  // namespace cosmo::nn
