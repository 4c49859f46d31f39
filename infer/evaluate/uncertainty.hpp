#pragma once
// Whether predicted deviations are true.

#include <string>
#include <vector>

#include "infer/evaluate/evaluation.hpp"
#include "infer/evaluate/method.hpp"
#include "infer/predict/distribution.hpp"

namespace cosmo::infer {

/// How well one parameter's intervals hold the truth.
struct Coverage {
  Estimate within_1_sigma;  ///< share of truths in the central interval that has 68.27 % of the predicted
                            ///< probability
  Estimate within_2_sigma;  ///< 95.45 %
};

struct Uncertainty {
  /// Mean of -log(density of the truth), all parameters together, labels; infinite if a truth lies outside
  /// the parameters' ranges.
  Estimate negative_log_likelihood;
  std::vector<Coverage> coverage;  ///< (P)
  std::vector<nn::Vector> below;   ///< (rows, P) predicted probabilities below the truths
};

/// Of the rows of a table and what is said of each. Standard errors by bootstrap over universes, as
/// evaluate() has them; NaN of a share that is 0 or 1, of which no resample differs.
Uncertainty evaluate_uncertainty(const dataset::PredictionTable& table,
                                 const std::vector<Distribution>& distributions);

/// What the network says of a split.
struct NetworkPrediction {
  std::vector<nn::ModelManifest> models;
  Method method;                         ///< with deviations
  std::vector<Distribution> subvolumes;  ///< of the method's rows
  std::vector<Distribution> universes;   ///< of the method's rows
};

/// `samples`: the split's, with their truths; `outputs` of the models (samples, outputs).
NetworkPrediction network_prediction(std::vector<nn::ModelManifest> models, dataset::PredictionTable samples,
                                     std::span<const float> outputs);

/// Puts "uncertainty" into metrics.json, of universes, and of sub-volumes into "per_subvolume"; returns the
/// same of universes as text. Of universes alone it tells whether they are calibrated (check_calibration):
/// sub-volumes of one universe go together.
std::string add_uncertainty(core::Json& metrics, const NetworkPrediction& network);

}  // namespace cosmo::infer
