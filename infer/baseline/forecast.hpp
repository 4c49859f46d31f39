#pragma once

#include <Eigen/Core>
#include <optional>
#include <string>
#include <vector>

#include "core/format/json.hpp"
#include "dataset/regression/fisher.hpp"

namespace cosmo::infer {

/// How well P(k) is expected to constrain one parameter.
struct ParameterForecast {
  double fisher_sigma;  ///< sqrt (F⁻¹)_pp, physical units; infinite where P(k) alone does not constrain it
  double sigma;         ///< rms of truth - posterior mean with the flat prior over the ranges, physical units
  double relative_error;  ///< mean |x - p| / p of truth x and posterior mean p, as evaluate() has it
};

/// A Fisher forecast; P parameters.
struct Forecast {
  std::vector<ParameterForecast> parameters;  ///< (P)
  double k_max;                               ///< [1 / unit]
  core::LengthUnit unit;
  std::size_t universes;  ///< training universes that it rests on
  std::size_t bins;       ///< bins of k, over all channels
};

/// The errors that a Fisher matrix (P, P) in label units implies for universes drawn from the ranges: means
/// over draws of a universe and of the noise of its statistics.
std::vector<ParameterForecast> expected_errors(const Eigen::MatrixXd& fisher,
                                               const core::ParameterSpace& space);

/// Forecasts of log P(k), of whole universes and of single sub-volumes; nothing where nothing was measured.
struct Forecasts {
  std::optional<Forecast> universes, subvolumes;
};
Forecasts forecast_power_spectrum(const dataset::PowerInformations& measured,
                                  const core::ParameterSpace& space);

/// {"power_spectrum": {"omega_m": {"sigma", "scaled_error" (sigma / standard deviation of the training labels),
/// "fisher_sigma", "relative_error"}, ..., "assumptions", "k_max",
/// "k_unit", "bins", "universes_used"}}, or {} without one.
core::Json to_json(const std::optional<Forecast>& forecast, const core::ParameterSpace& space,
                   std::span<const double> label_deviations);

}  // namespace cosmo::infer
