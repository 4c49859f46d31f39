#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/format/json.hpp"
#include "dataset/measure/prediction_table.hpp"

namespace cosmo::infer {

/// The predictions of one method, the network or a baseline, for a split.
struct Method {
  std::string key;                      ///< in metrics.json
  std::string title;                    ///< in tables and figures
  dataset::PredictionTable subvolumes;  ///< one row per sample, in the split's order; or none
  dataset::PredictionTable universes;   ///< one row per universe, its sub-volumes' predictions combined

  /// Whether it predicts only universes, from the mean of their statistics; its title has an asterisk then.
  bool of_whole_universes() const { return subvolumes.rows.empty(); }
};

/// What was predicted: the network first, then the baselines, all on the same rows.
using Methods = std::vector<Method>;

/// The method that predicts these sub-volumes, and their universes by the mean.
Method method_of(std::string key, std::string title, dataset::PredictionTable subvolumes);

/// The methods to show to people. Where every universe is a single sub-volume, those that average over sub-volumes first are
/// the others again, and are left out.
Methods distinct(const Methods& methods);

/// metrics.json's {"samples", "universes", "label_deviation", "network", "baselines", "paired", "per_subvolume"}: the
/// figures of infer::evaluate for every method, and those of infer::compare for the network and that method, for
/// universes and for sub-volumes. `label_deviations` (P) are those of the training labels.
core::Json metrics_json(const Methods& methods, std::span<const double> label_deviations);

}  // namespace cosmo::infer
