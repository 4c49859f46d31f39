#include "train/posterior/fit_posterior.hpp"

#include <algorithm>
#include <optional>

#include "core/error.hpp"
#include "core/timer.hpp"
#include "dataset/regression/statistics_regression.hpp"
#include "nn/density/fit/fit_density.hpp"
#include "nn/model/inference.hpp"
#include "nn/model/model_file.hpp"
#include "train/plan/training_memory.hpp"
#include "train/posterior/universe_predictions.hpp"

namespace cosmo::train {

namespace {

using core::Json;

/// The predictions of both splits.
struct Predictions {
  UniversePredictions training, validation;
};

/// The labels of the model's regression for samples of the training split, each with its fold held out: all of the
/// statistics' rows are learned from, and those of unrolled boxes kept.
std::vector<double> held_out_labels(const core::Communicator& comm, const core::Log& log,
                                    const PosteriorData& data) {
  const std::vector<std::uint32_t> samples =
      dataset::samples_of_first_universes(data.training, dataset::kMostTrainingUniverses);
  const core::ParameterSpace& space = data.training.spec().parameters;
  const dataset::StatisticsTable table = dataset::summarise(comm, log, {data.training, data.scale, samples});
  std::vector<double> labels, kept;
  comm.agree([&] { labels = dataset::held_out_labels(table, space); });
  for (std::size_t row = 0; row < samples.size(); ++row) {
    if (data.training.sample(samples[row]).roll != 0) continue;
    const auto own = std::span(labels).subspan(row * space.size(), space.size());
    kept.insert(kept.end(), own.begin(), own.end());
  }
  return kept;
}

/// The labels of a model's regression for samples that it has not learned from. Throws as reading does.
std::vector<double> regression_labels(const ModelToFit& of, const dataset::StatisticsTable& table) {
  const auto& [directory, model] = of;
  const auto regression =
      dataset::StatisticsRegression::read(directory, model.base, nn::kBaselineFile, model.parameters.size());
  const std::vector<float> labels = regression.predict(table);
  return {labels.begin(), labels.end()};
}

/// What the models' regressions need.
struct RegressionData {
  std::vector<double> held_out;         ///< labels for the training samples
  dataset::StatisticsTable validation;  ///< statistics of the validation samples
};

/// What one model predicts; `regression`: if it has a baseline.
Predictions predict(const core::Communicator& comm, const ModelToFit& of, const PosteriorData& data,
                    std::size_t most, const std::optional<RegressionData>& regression) {
  const auto& [directory, model] = of;
  SamplesToPredict training{data.training, data.transform, unrolled_samples(data.training, most)};
  SamplesToPredict validation{data.validation, data.transform,
                              unrolled_samples(data.validation, data.validation.size())};
  if (!model.network.baseline.empty()) {
    training.regression = regression->held_out;
    comm.agree([&] { validation.regression = regression_labels(of, regression->validation); });
  }
  std::optional<nn::Network> network;
  comm.agree([&] {
    network.emplace(model.network, model.input, model.outputs(), nn::batch_of(model), nn::Mode::inference,
                    nn::arithmetic_of(model));
    nn::read_weights(directory, model, *network);
  });
  return {predict_universes(comm, training, *network), predict_universes(comm, validation, *network)};
}

/// The predictions of all models side by side, without features unless there is one model.
Predictions predict_all(const core::Communicator& comm, const core::Log& log,
                        const std::vector<ModelToFit>& models, const PosteriorData& data) {
  const bool mixed =
      std::ranges::any_of(models, [](const auto& of) { return !of.model.network.baseline.empty(); });
  const std::size_t most = mixed ? dataset::kMostTrainingUniverses : kMostPosteriorUniverses;
  std::optional<RegressionData> regression;
  if (mixed) {
    regression = {held_out_labels(comm, log, data),
                  dataset::summarise(comm, log,
                                     {data.validation, data.scale,
                                      unrolled_samples(data.validation, data.validation.size())})};
  }
  Predictions all = predict(comm, models.front(), data, most, regression);
  for (std::size_t m = 1; m < models.size(); ++m) {
    const Predictions more = predict(comm, models[m], data, most, regression);
    all.training.put_beside(more.training);
    all.validation.put_beside(more.validation);
  }
  return all;
}

Json to_json(const nn::DensityFit& fit, const core::ParameterSpace& space) {
  Json json = {{"held_out_log_likelihood", fit.held_out}};
  for (std::size_t p = 0; p < space.size(); ++p) {
    const std::string& name = space.names[p];
    json["held_out_rmse"][name] = fit.held_out_error[p] * (space.high[p] - space.low[p]) / 2;
    json["widening"][name] = fit.density.widening()[p];
    json["components"][name] = fit.factors[p].components;
  }
  return json;
}

/// Fits both densities. Called by one rank.
FittedPosterior fit(const Predictions& predictions, const nn::ModelManifest& model) {
  const nn::DensityPairs &training = predictions.training.universes,
                         &validation = predictions.validation.universes;
  FittedPosterior fitted;
  const nn::DensityFit universes = nn::fit_density(training, validation);
  fitted.facts = {{"universes", training.rows()},
                  {"validation_universes", validation.rows()},
                  {"of_universes", to_json(universes, model.parameters)}};
  fitted.posterior = {universes.density, std::nullopt};
  fitted.posterior->error_of_universes = universes.held_out_error;
  fitted.posterior->distance_of_universes = nn::FeatureDistance::fit(
      predictions.training.universe_features, predictions.validation.universe_features);
  if (model.validation.subvolumes > 1) {
    const nn::DensityFit subvolumes =
        nn::fit_density(predictions.training.subvolumes, predictions.validation.subvolumes);
    fitted.facts["of_subvolumes"] = to_json(subvolumes, model.parameters);
    fitted.posterior->of_subvolumes = subvolumes.density;
    fitted.posterior->distance_of_subvolumes = nn::FeatureDistance::fit(
        predictions.training.subvolume_features, predictions.validation.subvolume_features);
  }
  return fitted;
}

}  // namespace

FittedPosterior fit_posterior(const core::Communicator& comm, const core::Log& log,
                              const std::vector<ModelToFit>& models, const PosteriorData& data) {
  const core::Timer timer;
  const Predictions predictions = predict_all(comm, log, models, data);
  FittedPosterior fitted;
  comm.agree([&] {
    if (!comm.is_root()) return;
    try {
      fitted = fit(predictions, models.front().model);
    } catch (const core::Error& error) {
      if (error.fault() != core::Fault::config && error.fault() != core::Fault::numeric) throw;
      fitted.obstacle = error.what();
    }
  });
  const Json shared =
      Json::parse(comm.broadcast(Json{{"facts", fitted.facts}, {"obstacle", fitted.obstacle}}.dump()));
  fitted.facts = shared.at("facts");
  fitted.obstacle = shared.at("obstacle");
  if (!fitted.facts.is_null())
    log.info("posterior: fitted to {} training universes in {}",
             fitted.facts.at("universes").get<std::size_t>(), core::format_duration(timer.seconds()));
  return fitted;
}

}  // namespace cosmo::train
