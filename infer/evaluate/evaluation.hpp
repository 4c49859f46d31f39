#pragma once

#include <cstdint>
#include <span>
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
  Estimate scaled_error;  ///< rmse / standard deviation of the training labels: predicting their mean gives 1
  Estimate fractional_error;  ///< mean |x - p| / |x|; NaN unless far_from_zero()
  Estimate relative_error;    ///< mean |x - p| / |p|, as Mathuriya et al. 2018, section V; NaN if not finite
  Estimate mae;               ///< mean |x - p| in label units: the parameter's range is mapped to [-1, 1]
  Estimate rmse;              ///< sqrt mean (x - p)², physical units
  Estimate bias;              ///< mean (p - x), physical units
  Estimate slope;             ///< slope of the least-squares line of p on x; 0 if a method ignores its input
};

/// Whether a range of a parameter is so far from 0 that an error divided by the parameter means something: its largest
/// value is at most ten times its smallest.
bool far_from_zero(double low, double high);

/// Metrics of every parameter (P) over the rows of `table`, given the standard deviations of the training labels (P).
/// Standard errors by bootstrap over universes, whose sub-volumes are correlated and are drawn together: 1000 resamples,
/// the same for every method and call.
std::vector<ParameterMetrics> evaluate(const dataset::PredictionTable& table,
                                       std::span<const double> label_deviations);

/// Sets json[name] to the figure and json[name + "_se"] to its standard error.
void put(core::Json& json, const std::string& name, const Estimate& estimate);

/// "0.0123 ± 0.0004", and "0.0123 ± —" without a standard error.
std::string text_of(const Estimate& estimate, int decimals);

/// {"omega_m": {"scaled_error", "scaled_error_se", ...}, ...}; null for what is not finite
core::Json to_json(const core::ParameterSpace& parameters, const std::vector<ParameterMetrics>& metrics);

}  // namespace cosmo::infer
