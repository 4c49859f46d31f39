#pragma once

#include <string>
#include <vector>

#include "core/format/json.hpp"
#include "dataset/measure/prediction_table.hpp"

namespace cosmo::infer {

/// What one method, the network or a baseline, says of a split.
struct Method {
  std::string key;                      ///< in metrics.json
  std::string title;                    ///< in tables and figures
  dataset::PredictionTable subvolumes;  ///< a row a sample, in the split's order; or none
  dataset::PredictionTable universes;   ///< a row a universe, its sub-volumes' predictions combined

  /// Whether it predicts these only, from the mean of their statistics; its title has an asterisk then.
  bool of_whole_universes() const { return subvolumes.rows.empty(); }
};

/// What was predicted: the network first, then the baselines, all on the same rows.
using Methods = std::vector<Method>;

/// The method that predicts these sub-volumes, and their universes by the mean.
Method method_of(std::string key, std::string title, dataset::PredictionTable subvolumes);

/// metrics.json's {"samples", "universes", "network", "baselines", "paired", "per_subvolume"}: the figures of
/// infer::evaluate of every method, and of infer::compare of the network with it, of universes and of
/// sub-volumes.
core::Json metrics_json(const Methods& methods);

}  // namespace cosmo::infer
