#include "nn/posterior/mixture_head.hpp"

#include <algorithm>
#include <cmath>

#include "core/error.hpp"

namespace cosmo::nn {

namespace {

constexpr double kCentreLimit = 10, kLogLimit = 7, kSlopeLimit = 30;
constexpr double kStartDeviation = 0.6, kStartSpread = 0.5;

double limited(double output, double limit) { return output / std::sqrt(1 + std::pow(output / limit, 2)); }

/// The derivative of limited().
double slope_of(double output, double limit) { return std::pow(1 + std::pow(output / limit, 2), -1.5); }

/// Number of outputs of one component.
int outputs_each(int parameters) { return parameters + parameters * (parameters + 1) / 2; }

std::size_t components_in(std::span<const float> outputs, int parameters) {
  const auto each = static_cast<std::size_t>(outputs_each(parameters));
  return outputs.size() == each ? 1 : outputs.size() / (each + 1);
}

}  // namespace

int mixture_outputs(int parameters, int components) {
  core::ensure(parameters <= kMostParameters, core::Fault::config,
               "A --loss that predicts a density takes at most {} parameters and the data set has {}: choose "
               "mae or mse.",
               kMostParameters, parameters);
  return std::max(components, 1) * outputs_each(parameters) + components;
}

std::vector<float> mixture_start(int parameters, int components) {
  std::vector<float> biases(static_cast<std::size_t>(mixture_outputs(parameters, components)), 0.0f);
  const int each = outputs_each(parameters), gaussians = std::max(components, 1);
  for (int k = 0; k < gaussians; ++k) {
    const double place = kStartSpread * (2 * k + 1 - gaussians) / gaussians;
    for (int i = 0; i < parameters; ++i) {
      const auto at = static_cast<std::size_t>(k * each + i);
      biases[at] = static_cast<float>(place);
      biases[at + static_cast<std::size_t>(parameters)] = static_cast<float>(-std::log(kStartDeviation));
    }
  }
  return biases;
}

TruncatedGaussian gaussian_of(std::span<const float> outputs, int parameters) {
  TruncatedGaussian gaussian{parameters, {}, {}};
  const auto n = static_cast<std::size_t>(parameters);
  std::size_t slope = 2 * n;
  for (std::size_t i = 0; i < n; ++i) {
    gaussian.centre[i] = limited(outputs[i], kCentreLimit);
    gaussian.factor[i][i] = std::exp(limited(outputs[n + i], kLogLimit));
    for (std::size_t j = 0; j < i; ++j) {
      gaussian.factor[i][j] = gaussian.factor[i][i] * limited(outputs[slope++], kSlopeLimit);
    }
  }
  return gaussian;
}

Mixture mixture_of(std::span<const float> outputs, int parameters) {
  Mixture mixture(components_in(outputs, parameters));
  (void)read_mixture(mixture, outputs, parameters);
  return mixture;
}

std::span<const Component> read_mixture(std::span<Component> storage, std::span<const float> outputs,
                                        int parameters) {
  const std::size_t components = components_in(outputs, parameters);
  const auto each = static_cast<std::size_t>(outputs_each(parameters));
  const std::span<const float> logits = outputs.subspan(components * each);
  double sum = 0;
  for (std::size_t k = 0; k < components; ++k) {
    const double weight = logits.empty() ? 1 : std::exp(limited(logits[k], kLogLimit));
    storage[k] = component(weight, gaussian_of(outputs.subspan(k * each, each), parameters));
    sum += weight;
  }
  for (std::size_t k = 0; k < components; ++k) storage[k].weight /= sum;
  return storage.first(components);
}

namespace {

/// Writes the gradient for one component.
void gradient_of(std::span<float> gradient, std::span<const float> outputs, const TruncatedGaussian& gaussian,
                 const TruncatedMoments& inside, const Vector& truth, double divisor) {
  const auto n = static_cast<std::size_t>(gaussian.parameters);
  const Matrix& factor = gaussian.factor;
  const auto put = [&](std::size_t output, double derivative, double limit) {
    gradient[output] = static_cast<float>(derivative * slope_of(outputs[output], limit) / divisor);
  };
  Vector pull{};  // mean minus truth
  for (std::size_t i = 0; i < n; ++i) pull[i] = inside.mean[i] - truth[i];
  const Vector centre = times_transposed(factor, times(factor, pull, n), n);

  std::size_t slope = 2 * n;
  for (std::size_t i = 0; i < n; ++i) {
    put(i, centre[i], kCentreLimit);
    // d[k][j]: products of deviations from the centre, those of the truth less the expected ones
    Vector row{};  // (factor d)[i][0 … i]
    for (std::size_t j = 0; j <= i; ++j) {
      for (std::size_t k = 0; k <= i; ++k) {
        const double d = (truth[k] - gaussian.centre[k]) * (truth[j] - gaussian.centre[j]) -
                         (inside.mean[k] - gaussian.centre[k]) * (inside.mean[j] - gaussian.centre[j]) -
                         inside.covariance[k][j];
        row[j] += factor[i][k] * d;
      }
    }
    double along = 0;  // derivative along the whole row, which the log deviation scales
    for (std::size_t j = 0; j <= i; ++j) along += factor[i][j] * row[j];
    put(n + i, along, kLogLimit);
    for (std::size_t j = 0; j < i; ++j) put(slope++, factor[i][i] * row[j], kSlopeLimit);
  }
}

}  // namespace

void gradient_of(std::span<float> gradient, std::span<const float> outputs,
                 std::span<const Component> mixture, double log_density, const Vector& truth,
                 double divisor) {
  const auto each = static_cast<std::size_t>(outputs_each(mixture.front().gaussian.parameters));
  const std::size_t weights = mixture.size() * each;  // where the outputs of the weights begin
  for (std::size_t k = 0; k < mixture.size(); ++k) {
    const auto& [weight, gaussian, inside] = mixture[k];
    const double share = responsibility(mixture[k], log_density, truth);
    gradient_of(gradient.subspan(k * each, each), outputs.subspan(k * each, each), gaussian, inside, truth,
                divisor / share);
    if (weights < outputs.size())
      gradient[weights + k] =
          static_cast<float>((weight - share) * slope_of(outputs[weights + k], kLogLimit) / divisor);
  }
}

}  // namespace cosmo::nn
