#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/format/json.hpp"
#include "dataset/measure/prediction_table.hpp"

namespace cosmo::infer {

/// A figure and its standard error, which is NaN (null in JSON) for a single universe.
struct Estimate {
  double value;
  double standard_error;
};

/// How well one parameter is predicted; x truth, p prediction.
struct ParameterMetrics {
  Estimate relative_error;  ///< mean |x - p| / p, as Mathuriya et al. 2018, section V
  Estimate mae;             ///< mean |x - p| in label units: the parameter's range is mapped to [-1, 1]
  Estimate rmse;            ///< sqrt mean (x - p)², physical units
  Estimate bias;            ///< mean (p - x), physical units
  Estimate slope;           ///< slope of the least-squares line of p on x; 0 if a method ignores its input
};

/// Metrics of every parameter (P) over the rows of `table`. Standard errors by bootstrap over universes,
/// whose sub-volumes are correlated and are drawn together: 1000 resamples, the same for every method and
/// call.
std::vector<ParameterMetrics> evaluate(const dataset::PredictionTable& table);

/// "0.0123 ± 0.0004", and "0.0123 ± —" without a standard error.
std::string text_of(const Estimate& estimate, int decimals);

/// {"omega_m": {"relative_error", "relative_error_se", ...}, ...}
core::Json to_json(const core::ParameterSpace& parameters, const std::vector<ParameterMetrics>& metrics);

}  // namespace cosmo::infer
