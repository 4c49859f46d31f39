#include "infer/predict/distribution.hpp"

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "dataset/regression/baseline_labels.hpp"
#include "dataset/shard/target_scaler.hpp"
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
  std::optional<nn::Farness> farness = {};
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

std::size_t width_of(const Model& model) {
  return static_cast<std::size_t>(model.outputs()) +
         (model.network.baseline.empty() ? 0 : model.parameters.size()) + model.features();
}

double median_of(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

/// Reads a model's rows of outputs, one per sub-volume, by what they mean.
struct Reader {
  const Model& model;
  const std::vector<std::span<const float>>& rows;
  bool of_universes;

  Statement operator()(const nn::Labels&) const {
    const std::vector<double> mean = mean_prediction();
    const nn::ValidationErrors& validation = model.validation;
    if (!model.posterior)
      return from_labels(model, mean, of_universes ? validation.per_universe : validation.per_subvolume);
    Statement statement = of_universes ? from_posterior(model, model.posterior->of_universes, {mean_row()})
                                       : from_posterior(model, model.posterior->for_subvolumes(), all_rows());
    statement.network = mean;
    statement.farness = farness();
    return statement;
  }
  Statement operator()(const nn::Density& density) const {
    std::vector<nn::Mixture> mixtures;
    for (const auto& row : rows) mixtures.push_back(density.mixture(row));
    const nn::Mixture average = nn::average(mixtures);
    const nn::ValidationErrors& validation = model.validation;
    const std::vector<double>& calibration =
        of_universes ? validation.calibration_per_universe : validation.calibration_per_subvolume;
    return from_density(model, nn::mapped(average, nn::moments_of(average).mean,
                                          nn::triangle_of(calibration, model.parameters.size())));
  }

 private:
  /// The mean over the rows of the labels, each mixed with those of a regression, in physical units.
  std::vector<double> mean_prediction() const {
    const dataset::TargetScaler scaler(model.parameters);
    std::vector<double> mean(scaler.size(), 0.0), one(scaler.size());
    for (const auto& row : rows) {
      scaler.to_physical(mixed(row), one);
      for (std::size_t p = 0; p < one.size(); ++p) mean[p] += one[p];
    }
    for (double& value : mean) value /= static_cast<double>(rows.size());
    return mean;
  }
  std::vector<float> mixed(std::span<const float> row) const {
    const std::size_t count = model.parameters.size();
    const auto labels = row.first(count);
    if (model.network.baseline.empty()) return {labels.begin(), labels.end()};
    const auto regression = row.subspan(count, count);
    std::vector<float> clipped;
    for (const float label : regression) clipped.push_back(std::clamp(label, -1.0f, 1.0f));
    dataset::BaselineLabels baseline(std::move(clipped), static_cast<int>(count));
    baseline.set_shares(model.validation.baseline_shares);
    return baseline.mix(labels);
  }
  /// The mean over the rows of `count` values from `first` on.
  std::vector<double> mean_of(std::size_t first, std::size_t count) const {
    std::vector<double> mean(count);
    for (const auto& row : rows) {
      for (std::size_t f = 0; f < count; ++f) mean[f] += double{row[first + f]};
    }
    for (double& value : mean) value /= static_cast<double>(rows.size());
    return mean;
  }
  std::vector<double> mean_row() const { return mean_of(0, nn::predictions_of(model)); }
  std::vector<std::vector<double>> all_rows() const {
    std::vector<std::vector<double>> all;
    for (const auto& row : rows) {
      const auto predictions = row.first(nn::predictions_of(model));
      all.emplace_back(predictions.begin(), predictions.end());
    }
    return all;
  }
  std::optional<nn::Farness> farness() const {
    const std::size_t features = model.features(), first = nn::predictions_of(model);
    if (features == 0) return std::nullopt;
    if (of_universes) return model.posterior->distance_of_universes->of(mean_of(first, features));
    const std::optional<nn::FeatureDistance>& distance = model.posterior->distance_for_subvolumes();
    if (!distance) return std::nullopt;
    std::vector<double> ranks, distances;
    for (const auto& row : rows) {
      const auto own = row.subspan(first, features);
      const nn::Farness farness = distance->of(std::vector<double>(own.begin(), own.end()));
      ranks.push_back(farness.rank);
      distances.push_back(farness.distance);
    }
    return nn::Farness{median_of(std::move(ranks)), median_of(std::move(distances))};
  }
};

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

/// The means over the models that measure distances.
std::optional<nn::Farness> mean_farness(const std::vector<Statement>& statements) {
  nn::Farness sum{0, 0};
  int count = 0;
  for (const Statement& statement : statements) {
    if (!statement.farness) continue;
    sum.rank += statement.farness->rank;
    sum.distance += statement.farness->distance;
    ++count;
  }
  return count == 0 ? std::nullopt : std::optional(nn::Farness{sum.rank / count, sum.distance / count});
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
                   statements.front().network,   statements.front().covariance, statements.front().farness};
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
  all.farness = mean_farness(statements);
  all.covariance = total_covariance(statements, all.prediction);
  return all;
}

Distribution distribution_of(Models models, std::span<const float> outputs, bool universe) {
  const std::size_t width = width_of(models);
  std::vector<Statement> statements;
  std::size_t first = 0;
  for (const Model& model : models) {
    const std::size_t model_width = width_of(model);
    std::vector<std::span<const float>> rows;
    for (std::size_t row = 0; row < outputs.size(); row += width)
      rows.push_back(outputs.subspan(row + first, model_width));
    statements.push_back(std::visit(Reader{model, rows, universe && as_in_validation(model, rows.size())},
                                    model.output.kind()));
    first += model_width;
  }
  return combine(statements);
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
