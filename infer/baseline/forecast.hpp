#pragma once

#include <Eigen/Core>
#include <optional>
#include <string>
#include <vector>

#include "core/format/json.hpp"
#include "dataset/regression/sample_statistics.hpp"

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
  std::size_t universes;  ///< universes of the training split that it rests on
  std::size_t bins;       ///< bins of k, over all channels
};

/// The Fisher matrix (P, P) in label units at the centre of the ranges, of statistics (rows, B) of universes
/// with labels (rows, P): derivatives from a quadratic regression of the statistics on the labels, covariance
/// from the scatter around it with Hartlap's factor; the noise that the derivatives add is subtracted. Needs
/// fisher_rows(P, B) rows. Source: Tegmark, Taylor and Heavens 1997, eq. 15 (its second term); Hartlap et al.
/// 2007, eq. 17.
Eigen::MatrixXd fisher_matrix(const Eigen::MatrixXd& statistics, const Eigen::MatrixXd& labels);
/// Rows that the Fisher matrix of B statistics needs for eight residual degrees of freedom per statistic.
std::size_t fisher_rows(std::size_t parameters, std::size_t statistics);

/// The errors that a Fisher matrix (P, P) in label units implies for universes drawn from the ranges: means
/// over draws of a universe and of the noise of its statistics.
std::vector<ParameterForecast> expected_errors(const Eigen::MatrixXd& fisher,
                                               const core::ParameterSpace& space);

/// Forecasts of log P(k) from the training split: of whole universes (the mean over their sub-volumes) and of
/// single sub-volumes; rolls are left out. Nothing if there are too few universes, or too few different ones
/// for a quadratic regression.
struct Forecasts {
  std::optional<Forecast> universes, subvolumes;
};
/// Universes that a forecast of P parameters needs.
std::size_t fewest_universes(std::size_t parameters);
Forecasts forecast_power_spectrum(const dataset::StatisticsTable& training,
                                  const core::ParameterSpace& space);

/// {"power_spectrum": {"omega_m": {"sigma", "scaled_error" (sigma / standard deviation of the training labels),
/// "fisher_sigma", "relative_error"}, ..., "assumptions", "k_max",
/// "k_unit", "bins", "universes_used"}}, or {} without one.
core::Json to_json(const std::optional<Forecast>& forecast, const core::ParameterSpace& space,
                   std::span<const double> label_deviations);

}  // namespace cosmo::infer
