#include "infer/predict/ensemble.hpp"

#include <algorithm>
#include <optional>

#include "core/error.hpp"
#include "core/finite.hpp"
#include "nn/cut/cut_plan.hpp"
#include "nn/model/ensemble.hpp"

namespace cosmo::infer {

using core::Fault;

NamedModels load_models(const std::string& names) {
  NamedModels named{nn::model_directories(names), {}};
  std::optional<nn::EnsembleManifest> ensemble;
  if (named.directories.size() == 1 && nn::is_ensemble(names)) {
    ensemble = nn::load_ensemble(names);
    named.directories = ensemble->directories;
  }
  for (const std::string& directory : named.directories) {
    named.models.push_back({nn::load_model_manifest(directory)});
    named.models.back().posterior = nn::read_posterior(directory, named.models.back());
  }
  const std::vector<nn::ModelManifest> manifests = manifests_of(named.models);
  nn::ensure_alike(manifests, named.directories);
  if (!ensemble) return named;
  named.models.front().joint = nn::read_posterior(names, *ensemble, manifests);
  named.models.front().joint_sha256 = ensemble->base.find(nn::kPosteriorFile)->sha256;
  return named;
}

void ensure_finite(std::span<const float> outputs, std::size_t width,
                   const std::function<std::string(std::size_t)>& name) {
  const std::optional<std::size_t> row = core::row_not_finite(outputs, width);
  if (!row) return;
  core::fail(
      Fault::numeric,
      "The network's output for {} is not a finite number: its weights are damaged, or the input is far "
      "from what it was trained on.",
      name(*row));
}

Ensemble::Ensemble(Models models, const std::vector<std::string>& directories, int batch,
                   std::span<const nn::Share> shares) {
  for (std::size_t m = 0; m < directories.size(); ++m) {
    features_.push_back(models[m].features());
    predictors_.emplace_back(directories[m], batch, shares.empty() ? nullptr : &shares[m], features_.back());
  }
}

core::Json posterior_records(Models models) {
  if (models.front().joint) return core::Json::array({models.front().joint_sha256});
  core::Json records = core::Json::array();
  bool any = false;
  for (const Model& model : models) {
    const core::FileRecord* record = model.base.find(nn::kPosteriorFile);
    records.push_back(record == nullptr ? core::Json() : core::Json(record->sha256));
    any |= record != nullptr;
  }
  return any ? records : core::Json::array();
}

bool need_statistics(Models models) {
  return std::ranges::any_of(models, [](const Model& model) { return !model.network.baseline.empty(); });
}

std::vector<float> Ensemble::complete(std::span<const float> outputs,
                                      const dataset::StatisticsTable& statistics) const {
  const std::size_t samples = statistics.rows.size(), all = outputs.size() / samples;
  std::vector<std::vector<float>> regressions;
  for (const Predictor& predictor : predictors_) regressions.push_back(predictor.regression(statistics));
  std::vector<float> rows;
  for (std::size_t sample = 0; sample < samples; ++sample) {
    auto rest = outputs.subspan(sample * all, all);
    for (std::size_t m = 0; m < predictors_.size(); ++m) {
      const nn::ModelManifest& model = predictors_[m].model();
      const auto width = static_cast<std::size_t>(model.outputs());
      const std::size_t count = regressions[m].size() / samples;
      const auto own = rest.first(width), features = rest.subspan(width, features_[m]),
                 labels = std::span<const float>(regressions[m]).subspan(sample * count, count);
      for (const std::span<const float> part : {own, labels, features})
        rows.insert(rows.end(), part.begin(), part.end());
      rest = rest.subspan(width + features_[m]);
    }
  }
  return rows;
}

std::span<const float> Ensemble::predict(std::span<const float> voxels) {
  if (predictors_.size() == 1) return predictors_.front().predict(voxels);
  const auto batch = static_cast<std::size_t>(predictors_.front().batch());
  std::vector<std::vector<float>> all;
  std::size_t width = 0;
  for (Predictor& predictor : predictors_) {
    const std::span<const float> outputs = predictor.predict(voxels);
    all.emplace_back(outputs.begin(), outputs.end());
    width += outputs.size() / batch;
  }
  outputs_.clear();
  outputs_.reserve(batch * width);
  for (std::size_t row = 0; row < batch; ++row) {
    for (const std::vector<float>& outputs : all) {
      const auto from = outputs.begin() + static_cast<std::ptrdiff_t>(row * (outputs.size() / batch));
      outputs_.insert(outputs_.end(), from, from + static_cast<std::ptrdiff_t>(outputs.size() / batch));
    }
  }
  return outputs_;
}

}  // namespace cosmo::infer
