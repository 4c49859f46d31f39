#include "train/nn/gaussian_head.hpp"

#include <cmath>

#include "core/error.hpp"

namespace cosmo::nn {

namespace {

constexpr double kCentreLimit = 10, kLogLimit = 7, kSlopeLimit = 30;
constexpr double kStartDeviation = 0.6;

double limited(double output, double limit) { return output / std::sqrt(1 + std::pow(output / limit, 2)); }

/// The derivative of limited().
double slope_of(double output, double limit) { return std::pow(1 + std::pow(output / limit, 2), -1.5); }

}  // namespace

int gaussian_outputs(int parameters) {
  core::ensure(parameters <= kMostParameters, core::Fault::config,
               "--loss gaussian takes at most {} parameters and the data set has {}: choose mae or mse.",
               kMostParameters, parameters);
  return parameters + parameters * (parameters + 1) / 2;
}

std::vector<float> gaussian_start(int parameters) {
  std::vector<float> biases(static_cast<std::size_t>(gaussian_outputs(parameters)), 0.0f);
  for (int i = 0; i < parameters; ++i) {
    biases[static_cast<std::size_t>(parameters + i)] = static_cast<float>(-std::log(kStartDeviation));
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

std::vector<TruncatedGaussian> gaussians_of(std::span<const float> outputs, int parameters) {
  std::vector<TruncatedGaussian> gaussians;
  const auto width = static_cast<std::size_t>(gaussian_outputs(parameters));
  for (std::size_t row = 0; row < outputs.size(); row += width) {
    gaussians.push_back(gaussian_of(outputs.subspan(row, width), parameters));
  }
  return gaussians;
}

void gradient_of(std::span<float> gradient, std::span<const float> outputs, const TruncatedGaussian& gaussian,
                 const TruncatedMoments& inside, const Vector& truth, double divisor) {
  const auto n = static_cast<std::size_t>(gaussian.parameters);
  const Matrix& factor = gaussian.factor;
  const auto put = [&](std::size_t output, double derivative, double limit) {
    gradient[output] = static_cast<float>(derivative * slope_of(outputs[output], limit) / divisor);
  };
  Vector pull{};  // of the truth on the mean
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
    double along = 0;  // of the whole row, which the log deviation scales
    for (std::size_t j = 0; j <= i; ++j) along += factor[i][j] * row[j];
    put(n + i, along, kLogLimit);
    for (std::size_t j = 0; j < i; ++j) put(slope++, factor[i][i] * row[j], kSlopeLimit);
  }
}

}  // namespace cosmo::nn
