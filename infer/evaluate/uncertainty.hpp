#pragma once
// Whether predicted deviations are right.

#include <string>
#include <vector>

#include "infer/evaluate/evaluation.hpp"
#include "infer/evaluate/method.hpp"
#include "infer/evaluate/uniform_band.hpp"
#include "infer/predict/distribution.hpp"

namespace cosmo::infer {

/// How well one parameter's intervals hold the truth.
struct Coverage {
  // Shares of truths in the central interval that has this part of the predicted probability:
  Estimate within_1_sigma;  ///< kWithin1Sigma
  Estimate within_2_sigma;  ///< kWithin2Sigma
};

struct Uncertainty {
  /// Mean of -log(density of the truth), all parameters together, labels; infinite if a truth lies outside
  /// the parameters' ranges.
  Estimate negative_log_likelihood;
  std::vector<Coverage> coverage;  ///< (P)
  std::vector<nn::Vector> below;   ///< (rows, P) predicted probabilities below the truths
};

/// Evaluates the rows of a table with the distribution of each. Standard errors by bootstrap over universes,
/// as in evaluate(); NaN for a share of 0 or 1, which no resample changes.
Uncertainty evaluate_uncertainty(const dataset::PredictionTable& table,
                                 const std::vector<Distribution>& distributions);

/// The network's predictions for a split.
struct NetworkPrediction {
  std::vector<Model> models;
  Method method;                         ///< with deviations
  std::vector<Distribution> subvolumes;  ///< one for each of the method's rows
  std::vector<Distribution> universes;   ///< one for each of the method's rows
};

/// What the networks predict alone (the mean of several), without their regressions and posteriors.
Method alone_prediction(Models models, dataset::PredictionTable samples, std::span<const float> outputs);

/// `samples` are the split's, with their truths; `outputs` are the models' (samples, width_of). Distributions refer to the
/// result's models.
NetworkPrediction network_prediction(std::vector<Model> models, dataset::PredictionTable samples,
                                     std::span<const float> outputs);

/// Puts "uncertainty" for universes into metrics.json, and that for sub-volumes into "per_subvolume"; returns
/// the one for universes as text. Calibration (check_calibration) is checked for universes alone, since
/// sub-volumes of one universe are correlated.
std::string add_uncertainty(core::Json& metrics, const NetworkPrediction& network);

}  // namespace cosmo::infer
