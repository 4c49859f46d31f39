#pragma once
// Whether the universes that a model predicts are unseen ones.

#include <optional>

#include "dataset/shard/dataset_manifest.hpp"
#include "nn/model/model_manifest.hpp"

namespace cosmo::infer {

/// How a model is related to the universes of a split.
struct Independence {
  std::optional<dataset::Leak> leak;  ///< seeds that it was made from, or that splits of the dataset share
  bool in_sample = false;             ///< the split is one that this very model was made from
  bool fitted = false;                ///< a posterior, too, which was fitted to its universes
};

/// A split that the model was trained or validated on is in-sample, not a leak: it was asked for by name.
/// Throws Error{config} if the model does not record its seeds and the data are not those it was trained on.
Independence independence_of(const nn::ModelManifest& model, const dataset::DatasetManifest& data,
                             dataset::Split split);

/// "The network was trained on these universes: …", or one of a leak; empty for unseen universes.
std::string warning_of(const Independence& independence, dataset::Split split);

/// metrics.json's {"leak": null or {"seeds", "between"}, "in_sample"}.
core::Json to_json(const Independence& independence);

}  // namespace cosmo::infer
