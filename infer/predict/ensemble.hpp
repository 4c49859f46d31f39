#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "infer/predict/model.hpp"
#include "infer/predict/predictor.hpp"

namespace cosmo::infer {

/// The directories that --model names, separated by commas. Throws Error{usage} for an empty or a repeated
/// name.
std::vector<std::string> model_directories(const std::string& models);

/// Their manifests and posteriors. Throws as nn::load_model_manifest and nn::read_posterior do, and Error{config} unless all have other weights, read the same input,
/// by the same transform, and predict the same parameters of the same ranges.
std::vector<Model> load_models(const std::vector<std::string>& directories);

/// The sha256 of each model's posterior; empty if none has one.
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
