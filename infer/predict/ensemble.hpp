#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "infer/predict/model.hpp"
#include "infer/predict/predictor.hpp"

namespace cosmo::infer {

/// The models that --model names.
struct NamedModels {
  std::vector<std::string> directories;
  std::vector<Model> models;
};

/// The models in the directories that --model names, separated by commas, or those of an ensemble that cosmo-train wrote,
/// with their posteriors. Throws as nn::model_directories, nn::load_model_manifest, nn::load_ensemble, nn::read_posterior
/// and nn::ensure_alike do.
NamedModels load_models(const std::string& names);

/// The sha256 of each model's posterior, or of the one of all; empty if none has one.
core::Json posterior_records(Models models);

/// Whether one of the models needs the statistics of the samples.
bool need_statistics(Models models);

/// Throws Error{numeric} unless the outputs (samples, width) are finite; `name` names a sample.
void ensure_finite(std::span<const float> outputs, std::size_t width,
                   const std::function<std::string(std::size_t)>& name);

/// One or several trained networks that predict the same samples.
class Ensemble {
 public:
  /// The networks of `models`, which are those in `directories`. `shares`: this rank's of each network, if ranks share each
  /// sample. Throws as Predictor does.
  Ensemble(Models models, const std::vector<std::string>& directories, int batch,
           std::span<const nn::Share> shares = {});

  /// Outputs (batch, outputs_of) of voxels as Predictor takes them, those of one model after another's in a row;
  /// valid until the next call.
  std::span<const float> predict(std::span<const float> voxels);

  /// The outputs of predict() for samples (samples, outputs_of) with the labels of each model's regression after its own, if
  /// it has one: (samples, width_of), as distributions are made from.
  std::vector<float> complete(std::span<const float> outputs,
                              const dataset::StatisticsTable& statistics) const;

 private:
  std::vector<Predictor> predictors_;
  std::vector<std::size_t> features_;  ///< number that each delivers
  std::vector<float> outputs_;
};

}  // namespace cosmo::infer
