#include "infer/predict/distribution.hpp"

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "dataset/shard/target_scaler.hpp"
#include "infer/predict/model_rows.hpp"
#include "nn/posterior/small_matrix.hpp"

namespace cosmo::infer {

namespace {

constexpr double kLeastDeviation = 1e-4;  ///< least deviation of a density of labels

/// The prediction of one model.
struct Statement {
  LabelDensity density;
  std::vector<double> prediction, deviation;  ///< physical units
  std::vector<double> network = {};           ///< likewise, beside a posterior's mean
  std::vector<double> covariance = {};        ///< (P, P) of a posterior, likewise
};

std::vector<double> physical(const core::ParameterSpace& space, std::span<const double> labels) {
  std::vector<double> values(space.size());
  dataset::TargetScaler(space).to_physical(labels.first(space.size()), values);
  return values;
}

Statement from_density(const nn::ModelManifest& model, const nn::Mixture& density) {
  const core::ParameterSpace& space = model.parameters;
  const nn::MixtureMoments inside = nn::moments_of(density);
  Statement statement{{{1, density}}, physical(space, inside.mean), {}};
  for (std::size_t p = 0; p < space.size(); ++p) {
    statement.deviation.push_back(std::sqrt(inside.covariance[p][p]) * (space.high[p] - space.low[p]) / 2);
  }
  return statement;
}

Statement from_labels(const nn::ModelManifest& model, const std::vector<double>& prediction,
                      const std::vector<double>& error) {
  const core::ParameterSpace& space = model.parameters;
  if (space.size() > nn::kMostParameters) return {{}, prediction, error};  // without a density
  nn::TruncatedGaussian gaussian{static_cast<int>(space.size()), {}, {}};
  dataset::TargetScaler(space).to_unit(prediction, std::span<double>(gaussian.centre).first(space.size()));
  for (std::size_t p = 0; p < space.size(); ++p)
    gaussian.factor[p][p] = 1 / std::max(2 * error[p] / (space.high[p] - space.low[p]), kLeastDeviation);
  return {{{1, nn::Mixture{nn::component(1, gaussian)}}}, prediction, error};
}

/// The average of densities given predictions, with its moments.
Statement from_posterior(const nn::ModelManifest& model, const nn::ConditionalDensity& density,
                         std::vector<std::vector<double>> predictions) {
  const core::ParameterSpace& space = model.parameters;
  const std::size_t count = space.size();
  const double weight = 1.0 / static_cast<double>(predictions.size());
  std::vector<double> mean(count), square(count * count);
  Statement statement;
  for (std::vector<double>& s : predictions) {
    const GivenPredictions given{&density, std::move(s)};
    const LabelMoments moments = moments_of(given);
    const auto finite = [](double value) { return std::isfinite(value); };
    core::ensure(
        std::ranges::all_of(moments.mean, finite) && std::ranges::all_of(moments.covariance, finite),
        core::Fault::numeric,
        "The posterior has no finite mean and deviation for these predictions: they are far from those that {} was "
        "fitted to, or it is damaged; fit it again with cosmo-train --posterior-only, or train longer.",
        nn::kPosteriorFile);
    for (std::size_t p = 0; p < count; ++p) {
      mean[p] += weight * moments.mean[p];
      for (std::size_t q = 0; q < count; ++q)
        square[p * count + q] +=
            weight * (moments.covariance[p * count + q] + moments.mean[p] * moments.mean[q]);
    }
    statement.density.push_back({weight, given});
  }
  statement.prediction = physical(space, mean);
  const auto unit = [&](std::size_t p) { return (space.high[p] - space.low[p]) / 2; };
  for (std::size_t p = 0; p < count; ++p) {
    for (std::size_t q = 0; q < count; ++q)
      statement.covariance.push_back((square[p * count + q] - mean[p] * mean[q]) * unit(p) * unit(q));
    statement.deviation.push_back(std::sqrt(std::max(0.0, statement.covariance[p * count + p])));
  }
  return statement;
}

bool as_in_validation(const nn::ModelManifest& model, std::size_t subvolumes) {
  return subvolumes == static_cast<std::size_t>(model.validation.subvolumes);
}

/// Reads a model's rows by what they mean.
struct Reader {
  const ModelRows& rows;
  bool of_universes;

  Statement operator()(const nn::Labels&) const {
    const Model& model = rows.model();
    const nn::ValidationErrors& validation = model.validation;
    const std::vector<double> mean = rows.mean_prediction();
    if (!model.posterior)
      return from_labels(model, mean, of_universes ? validation.per_universe : validation.per_subvolume);
    Statement statement =
        of_universes ? from_posterior(model, model.posterior->of_universes, {rows.mean_predictions()})
                     : from_posterior(model, model.posterior->for_subvolumes(), rows.predictions());
    statement.network = mean;
    return statement;
  }
  Statement operator()(const nn::Density& density) const {
    const Model& model = rows.model();
    std::vector<nn::Mixture> mixtures;
    for (const auto& row : rows.rows()) mixtures.push_back(density.mixture(row));
    const nn::Mixture average = nn::average(mixtures);
    const nn::ValidationErrors& validation = model.validation;
    const std::vector<double>& calibration =
        of_universes ? validation.calibration_per_universe : validation.calibration_per_subvolume;
    return from_density(model, nn::mapped(average, nn::moments_of(average).mean,
                                          nn::triangle_of(calibration, model.parameters.size())));
  }
  Statement operator()(const nn::Field&) const {
    core::fail(core::Fault::internal, "A model of a field is asked for parameters.");
  }
  Statement operator()(const nn::Classes&) const {
    core::fail(core::Fault::internal, "A model of classes is asked for parameters.");
  }
};

/// The prediction of models with one posterior, which is conditioned on the predictions of all.
Statement joint_statement(const std::vector<ModelRows>& all, bool of_universes) {
  const Model& model = all.front().model();
  std::vector<std::vector<double>> s(of_universes ? 1 : all.front().rows().size());
  for (const ModelRows& rows : all) {
    const std::vector<std::vector<double>> own =
        of_universes ? std::vector(1, rows.mean_predictions()) : rows.predictions();
    for (std::size_t row = 0; row < s.size(); ++row)
      s[row].insert(s[row].end(), own[row].begin(), own[row].end());
  }
  Statement statement = from_posterior(
      model, of_universes ? model.joint->of_universes : model.joint->for_subvolumes(), std::move(s));
  statement.network.assign(model.parameters.size(), 0.0);
  for (const ModelRows& rows : all) {
    const std::vector<double> mean = rows.mean_prediction();
    for (std::size_t p = 0; p < mean.size(); ++p)
      statement.network[p] += mean[p] / static_cast<double>(all.size());
  }
  return statement;
}

/// The densities of all models, each with an equal part of the probability.
LabelDensity combined_density(const std::vector<Statement>& statements) {
  std::vector<nn::Mixture> mixtures;
  LabelDensity parts;
  for (const Statement& statement : statements) {
    for (const DensityPart& part : statement.density) {
      parts.push_back({part.weight / static_cast<double>(statements.size()), part.content});
      if (const auto* mixture = std::get_if<nn::Mixture>(&part.content)) mixtures.push_back(*mixture);
    }
  }
  if (mixtures.empty() || mixtures.size() < parts.size()) return parts;
  return {{1, nn::pooled(mixtures)}};
}

/// The means; nothing of nothing.
std::optional<nn::Farness> mean_of(const std::vector<nn::Farness>& all) {
  if (all.empty()) return std::nullopt;
  nn::Farness mean{0, 0};
  for (const nn::Farness& one : all) {
    mean.rank += one.rank / static_cast<double>(all.size());
    mean.distance += one.distance / static_cast<double>(all.size());
  }
  return mean;
}

/// By the law of total covariance; empty unless all models have a posterior.
std::vector<double> total_covariance(const std::vector<Statement>& statements,
                                     const std::vector<double>& mean) {
  const std::size_t count = mean.size();
  std::vector<double> total(count * count);
  for (const Statement& statement : statements) {
    if (statement.covariance.empty()) return {};
    for (std::size_t p = 0; p < count; ++p) {
      for (std::size_t q = 0; q < count; ++q)
        total[p * count + q] += (statement.covariance[p * count + q] +
                                 (statement.prediction[p] - mean[p]) * (statement.prediction[q] - mean[q])) /
                                static_cast<double>(statements.size());
    }
  }
  return total;
}

Distribution combine(const std::vector<Statement>& statements) {
  Distribution all{combined_density(statements), statements.front().prediction, statements.front().deviation,
                   statements.front().network, statements.front().covariance};
  const auto models = static_cast<double>(statements.size());
  if (models == 1) return all;
  const bool posteriors =
      std::ranges::any_of(statements, [](const Statement& statement) { return !statement.network.empty(); });
  all.network.assign(posteriors ? all.prediction.size() : 0, 0.0);
  for (std::size_t p = 0; p < all.prediction.size(); ++p) {
    double mean = 0, variance = 0;
    for (const Statement& statement : statements) mean += statement.prediction[p] / models;
    for (const Statement& statement : statements) {
      variance +=
          (std::pow(statement.deviation[p], 2) + std::pow(statement.prediction[p] - mean, 2)) / models;
      if (posteriors)
        all.network[p] += (statement.network.empty() ? statement.prediction : statement.network)[p] / models;
    }
    all.prediction[p] = mean;
    all.deviation[p] = std::sqrt(variance);
  }
  all.covariance = total_covariance(statements, all.prediction);
  return all;
}

/// The rows of each model.
std::vector<ModelRows> rows_of(Models models, std::span<const float> outputs) {
  const std::size_t width = width_of(models);
  std::vector<ModelRows> all;
  std::size_t first = 0;
  for (const Model& model : models) {
    std::vector<std::span<const float>> rows;
    for (std::size_t row = 0; row < outputs.size(); row += width)
      rows.push_back(outputs.subspan(row + first, width_of(model)));
    all.emplace_back(model, std::move(rows));
    first += width_of(model);
  }
  return all;
}

Distribution distribution_of(Models models, std::span<const float> outputs, bool universe) {
  const std::vector<ModelRows> all = rows_of(models, outputs);
  std::vector<Statement> statements;
  std::vector<nn::Farness> farness;
  for (const ModelRows& rows : all) {
    const bool of_universes = universe && as_in_validation(rows.model(), rows.rows().size());
    if (const auto own = rows.farness(of_universes)) farness.push_back(*own);
    if (models.front().joint) {
      if (statements.empty()) statements.push_back(joint_statement(all, of_universes));
    } else {
      statements.push_back(std::visit(Reader{rows, of_universes}, rows.model().output.kind()));
    }
  }
  Distribution distribution = combine(statements);
  distribution.farness = mean_of(farness);
  return distribution;
}

}  // namespace

Distribution subvolume_distribution(Models models, std::span<const float> outputs) {
  return distribution_of(models, outputs, false);
}

Distribution universe_distribution(Models models, std::span<const float> outputs) {
  return distribution_of(models, outputs, true);
}

std::size_t outputs_of(Models models) {
  std::size_t outputs = 0;
  for (const Model& model : models) outputs += static_cast<std::size_t>(model.outputs()) + model.features();
  return outputs;
}

std::size_t width_of(Models models) {
  std::size_t width = 0;
  for (const Model& model : models) width += width_of(model);
  return width;
}

const std::vector<double>& universe_calibration(const nn::ModelManifest& model, std::size_t subvolumes) {
  return as_in_validation(model, subvolumes) ? model.validation.calibration_per_universe
                                             : model.validation.calibration_per_subvolume;
}

}  // namespace cosmo::infer
