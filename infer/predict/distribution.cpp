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
  const double weight = 1.0 / static_cast<double>(predictions.size());
  std::vector<double> mean(space.size()), square(space.size());
  Statement statement;
  for (std::vector<double>& s : predictions) {
    const GivenPredictions given{&density, std::move(s)};
    const LabelMoments moments = moments_of(given);
    core::ensure(
        std::ranges::all_of(moments.mean, [](double value) { return std::isfinite(value); }) &&
            std::ranges::all_of(moments.deviation, [](double value) { return std::isfinite(value); }),
        core::Fault::numeric,
        "The posterior has no finite mean and deviation for these predictions: they are far from those that {} was "
        "fitted to, or it is damaged; fit it again with cosmo-train --posterior-only, or train longer.",
        nn::kPosteriorFile);
    for (std::size_t p = 0; p < space.size(); ++p) {
      mean[p] += weight * moments.mean[p];
      square[p] += weight * (std::pow(moments.deviation[p], 2) + std::pow(moments.mean[p], 2));
    }
    statement.density.push_back({weight, given});
  }
  statement.prediction = physical(space, mean);
  for (std::size_t p = 0; p < space.size(); ++p)
    statement.deviation.push_back(std::sqrt(std::max(0.0, square[p] - mean[p] * mean[p])) *
                                  (space.high[p] - space.low[p]) / 2);
  return statement;
}

bool as_in_validation(const nn::ModelManifest& model, std::size_t subvolumes) {
  return subvolumes == static_cast<std::size_t>(model.validation.subvolumes);
}

std::size_t width_of(const nn::ModelManifest& model) {
  return static_cast<std::size_t>(model.outputs()) +
         (model.network.baseline.empty() ? 0 : model.parameters.size());
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
    const auto labels = row.first(count), regression = row.subspan(count);
    if (regression.empty()) return {labels.begin(), labels.end()};
    std::vector<float> clipped;
    for (const float label : regression) clipped.push_back(std::clamp(label, -1.0f, 1.0f));
    dataset::BaselineLabels baseline(std::move(clipped), static_cast<int>(count));
    baseline.set_shares(model.validation.baseline_shares);
    return baseline.mix(labels);
  }
  std::vector<double> mean_row() const {
    std::vector<double> mean(rows.front().size());
    for (const auto& row : rows) {
      for (std::size_t f = 0; f < mean.size(); ++f) mean[f] += double{row[f]};
    }
    for (double& value : mean) value /= static_cast<double>(rows.size());
    return mean;
  }
  std::vector<std::vector<double>> all_rows() const {
    std::vector<std::vector<double>> all;
    for (const auto& row : rows) all.emplace_back(row.begin(), row.end());
    return all;
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

Distribution combine(const std::vector<Statement>& statements) {
  Distribution all{combined_density(statements), statements.front().prediction, statements.front().deviation,
                   statements.front().network};
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
  for (const Model& model : models) outputs += static_cast<std::size_t>(model.outputs());
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
