#pragma once

#include <vector>

#include "core/format/json.hpp"
#include "infer/evaluate/evaluation.hpp"

namespace cosmo::infer {

/// How much closer the network comes to one parameter than another method does, on the same rows.
struct PairedDifference {
  Estimate mae;            ///< mean of |x - p| of the network minus that of the method, label units
  double fraction_better;  ///< share of the rows where the network is closer
};

/// Compares every parameter (P); both tables must have the same rows. Standard errors by bootstrap over
/// universes, as in evaluate().
std::vector<PairedDifference> compare(const dataset::PredictionTable& network,
                                      const dataset::PredictionTable& method);

/// {"omega_m": {"mae_difference", "mae_difference_se", "fraction_better"}, ...}
core::Json to_json(const core::ParameterSpace& parameters, const std::vector<PairedDifference>& differences);

}  // namespace cosmo::infer
