#pragma once
// Bias and scatter where all universes have one value of a parameter: what predictions at a fiducial point are judged by.

#include <optional>
#include <vector>

#include "core/format/json.hpp"
#include "dataset/measure/prediction_table.hpp"

namespace cosmo::infer {

/// Predictions p of a parameter whose truth x is the same in n universes.
struct FiducialFigures {
  double truth;
  double bias, bias_se;        ///< mean of p - x, with s / sqrt(n)
  double scatter, scatter_se;  ///< s, the standard deviation of p, with s / sqrt(2 (n - 1))
  double mean_deviation;  ///< mean of the predicted deviations; those are honest if it is like the scatter
};

/// One for each parameter (P): nothing for one that varies between the universes, of which there must be two.
using Fiducial = std::vector<std::optional<FiducialFigures>>;
Fiducial fiducial_of(const dataset::PredictionTable& universes);

/// Whether some parameter is the same in all universes.
bool is_fiducial(const Fiducial& fiducial);

/// {NAME: {"truth", "bias", "bias_se", "scatter", "scatter_se", "mean_deviation"}} of those that are.
core::Json to_json(const core::ParameterSpace& space, const Fiducial& fiducial);

/// Adds metrics.json's "fiducial", if some parameter is the same in all universes, and takes what has no meaning for such
/// out of the figures of all methods: the slope.
void add_fiducial(core::Json& metrics, const core::ParameterSpace& space, const Fiducial& fiducial);

}  // namespace cosmo::infer
