#include "infer/predict/ensemble.hpp"

#include <algorithm>
#include <optional>

#include "core/error.hpp"
#include "core/finite.hpp"
#include "nn/cut/cut_plan.hpp"

namespace cosmo::infer {

using core::ensure;
using core::Fault;

std::vector<std::string> model_directories(const std::string& models) {
  std::vector<std::string> directories;
  std::error_code error;
  if (std::filesystem::is_directory(models, error)) return {models};  // whose name may have a comma
  for (std::size_t first = 0; first <= models.size();) {
    const std::size_t comma = std::min(models.find(',', first), models.size());
    directories.push_back(models.substr(first, comma - first));
    ensure(!directories.back().empty(), Fault::usage,
           "Option --model {} has an empty name: give directories.", models);
    ensure(std::count(directories.begin(), directories.end(), directories.back()) == 1, Fault::usage,
           "Option --model names {} twice: give each directory once.", directories.back());
    first = comma + 1;
  }
  return directories;
}

std::vector<Model> load_models(const std::vector<std::string>& directories) {
  std::vector<Model> models;
  for (const std::string& directory : directories) {
    models.push_back({nn::load_model_manifest(directory)});
    models.back().posterior = nn::read_posterior(directory, models.back());
    for (std::size_t m = 0; m + 1 < models.size(); ++m)
      ensure(models[m].best().sha256 != models.back().best().sha256, Fault::config,
             "{} and {} of --model have the same weights: give each network once.", directories[m],
             directory);
    const core::Json details = models.back().details(), first_details = models.front().details();
    for (const char* key : {"input", "normalisation", "parameters"}) {
      ensure(details.at(key) == first_details.at(key), Fault::config,
             "{} and {} of --model differ in \"{}\": give trainings on the same kind of data.",
             directories.front(), directory, key);
    }
  }
  return models;
}

void ensure_finite(std::span<const float> outputs, std::size_t width,
                   const std::function<std::string(std::size_t)>& name) {
  const std::optional<std::size_t> row = core::row_not_finite(outputs, width);
  if (!row) return;
  fail(Fault::numeric,
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
