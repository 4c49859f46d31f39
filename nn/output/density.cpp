#include "nn/output/density.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "core/error.hpp"
#include "nn/output/labels.hpp"
#include "nn/posterior/small_matrix.hpp"

namespace cosmo::nn {

namespace {

constexpr double kCentreLimit = 10, kLogLimit = 7, kSlopeLimit = 30;
constexpr double kStartDeviation = 0.6, kStartSpread = 0.5;

double limited(double output, double limit) { return output / std::sqrt(1 + std::pow(output / limit, 2)); }

/// The derivative of limited().
double slope_of(double output, double limit) { return std::pow(1 + std::pow(output / limit, 2), -1.5); }

/// Number of outputs of one component.
int outputs_each(int parameters) { return parameters + parameters * (parameters + 1) / 2; }

/// The Gaussian that the outputs of one component describe.
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

/// The mixture that the outputs of one sample describe, in the first elements of `storage`, without allocating.
std::span<const Component> read_mixture(std::span<Component> storage, std::span<const float> outputs,
                                        const Density& density) {
  const auto components = static_cast<std::size_t>(std::max(density.components, 1));
  const auto each = static_cast<std::size_t>(outputs_each(density.parameters));
  const std::span<const float> logits = outputs.subspan(components * each);
  double sum = 0;
  for (std::size_t k = 0; k < components; ++k) {
    const double weight = logits.empty() ? 1 : std::exp(limited(logits[k], kLogLimit));
    storage[k] = component(weight, gaussian_of(outputs.subspan(k * each, each), density.parameters));
    sum += weight;
  }
  for (std::size_t k = 0; k < components; ++k) storage[k].weight /= sum;
  return storage.first(components);
}

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

/// Writes the gradient of -log(density of the truth) / divisor with respect to the outputs from which
/// `mixture` was read; `log_density` is the mixture's at the truth. Each component contributes a
/// Gaussian's gradient times its responsibility. The Gaussians are an exponential family: each derivative is
/// the difference between a statistic of the truth and its expected value.
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

/// The loss of one row, and its gradient.
double loss_of_row(const Density& density, std::span<float> d_output, std::span<const float> output,
                   std::span<const float> label, double normaliser) {
  std::array<Component, kMostComponents> storage;
  const std::span<const Component> mixture = read_mixture(storage, output, density);
  Vector truth{};
  std::copy(label.begin(), label.end(), truth.begin());
  const double log_density = nn::log_density(mixture, truth);
  gradient_of(d_output, output, mixture, log_density, truth, density.parameters * normaliser);
  return -log_density / density.parameters;
}

/// The loss that users know it by.
const char* name_of(const Density& density) { return density.components > 0 ? "mixture" : "gaussian"; }

}  // namespace

Shape Density::shape() const {
  core::ensure(parameters <= kMostParameters, core::Fault::config,
               "A --loss that predicts a density takes at most {} parameters and the data set has {}: choose "
               "a loss of labels, as mse.",
               kMostParameters, parameters);
  return {std::max(components, 1) * outputs_each(parameters) + components, 1};
}

std::vector<float> Density::start() const {
  std::vector<float> biases(static_cast<std::size_t>(shape().channels), 0.0f);
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

double Density::loss(const LossArrays& arrays, const LossRows& rows) const {
  const auto labels = static_cast<std::size_t>(parameters);
  const auto width = static_cast<std::size_t>(shape().channels);
  arrays.check(rows, static_cast<int>(width), parameters);
  std::vector<double> losses(static_cast<std::size_t>(rows.valid));
#pragma omp parallel for schedule(static)
  for (std::size_t row = 0; row < losses.size(); ++row) {
    losses[row] = loss_of_row(*this, arrays.d_output.subspan(row * width, width),
                              arrays.outputs.subspan(row * width, width),
                              arrays.targets.subspan(row * labels, labels), rows.normaliser);
  }
  std::ranges::fill(arrays.d_output.subspan(losses.size() * width), 0.0f);
  return std::accumulate(losses.begin(), losses.end(), 0.0);
}

std::size_t Density::calibration_values() const {
  return triangle_size(static_cast<std::size_t>(parameters));
}

void Density::ensure_made_by(const NetworkSpec& network, const NetworkCensus& census) const {
  Labels{parameters, LabelError::squared}.ensure_made_by(network, census);
  core::ensure(
      !std::holds_alternative<Tanh>(network.layers.back().kind), core::Fault::config,
      "Network {} ends in a tanh, which bounds the deviations that --loss {} predicts: choose another "
      "--network, or describe it without the tanh in a FILE.json.",
      network.name, name_of(*this));
  core::ensure(
      network.baseline.empty(), core::Fault::config,
      "--baseline {} is mixed with labels, and --loss {} predicts distributions: give a loss of labels, as --loss mse.",
      network.baseline, name_of(*this));
}

Mixture Density::mixture(std::span<const float> outputs) const {
  Mixture mixture(static_cast<std::size_t>(std::max(components, 1)));
  (void)read_mixture(mixture, outputs, *this);
  return mixture;
}

}  // namespace cosmo::nn
