#include "infer/predict/distribution.hpp"

#include <algorithm>
#include <cmath>

#include "dataset/shard/target_scaler.hpp"
#include "nn/posterior/small_matrix.hpp"

namespace cosmo::infer {

namespace {

constexpr double kLeastDeviation = 1e-4;  ///< least deviation of a density of labels

/// The prediction of one model.
struct Statement {
  nn::Mixture density;
  std::vector<double> prediction, deviation;  ///< physical units
};

Statement from_density(const nn::ModelManifest& model, const nn::Mixture& density) {
  const core::ParameterSpace& space = model.parameters;
  const nn::MixtureMoments inside = nn::moments_of(density);
  Statement statement{density, std::vector<double>(space.size()), {}};
  dataset::TargetScaler(space).to_physical(std::span<const double>(inside.mean).first(space.size()),
                                           statement.prediction);
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
  return {{nn::component(1, gaussian)}, prediction, error};
}

bool as_in_validation(const nn::ModelManifest& model, std::size_t subvolumes) {
  return subvolumes == static_cast<std::size_t>(model.validation.subvolumes);
}

/// Reads a model's rows of outputs, one per sub-volume, by what they mean.
struct Reader {
  const nn::ModelManifest& model;
  const std::vector<std::span<const float>>& rows;
  bool of_universes;

  Statement operator()(const nn::Labels&) const {
    const dataset::TargetScaler scaler(model.parameters);
    std::vector<double> mean(scaler.size(), 0.0), one(scaler.size());
    for (const auto& row : rows) {
      scaler.to_physical(row, one);
      for (std::size_t p = 0; p < one.size(); ++p) mean[p] += one[p];
    }
    for (double& value : mean) value /= static_cast<double>(rows.size());
    const nn::ValidationErrors& validation = model.validation;
    return from_labels(model, mean, of_universes ? validation.per_universe : validation.per_subvolume);
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
};

Distribution combine(const std::vector<Statement>& statements) {
  std::vector<nn::Mixture> densities;
  for (const Statement& statement : statements) densities.push_back(statement.density);
  Distribution all{nn::pooled(densities), statements.front().prediction, statements.front().deviation};
  const auto models = static_cast<double>(statements.size());
  if (models == 1) return all;
  for (std::size_t p = 0; p < all.prediction.size(); ++p) {
    double mean = 0, variance = 0;
    for (const Statement& statement : statements) mean += statement.prediction[p] / models;
    for (const Statement& statement : statements) {
      variance +=
          (std::pow(statement.deviation[p], 2) + std::pow(statement.prediction[p] - mean, 2)) / models;
    }
    all.prediction[p] = mean;
    all.deviation[p] = std::sqrt(variance);
  }
  return all;
}

Distribution distribution_of(Models models, std::span<const float> outputs, bool universe) {
  const std::size_t width = outputs_of(models);
  std::vector<Statement> statements;
  std::size_t first = 0;
  for (const nn::ModelManifest& model : models) {
    const auto model_width = static_cast<std::size_t>(model.outputs());
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
  for (const nn::ModelManifest& model : models) outputs += static_cast<std::size_t>(model.outputs());
  return outputs;
}

const std::vector<double>& universe_calibration(const nn::ModelManifest& model, std::size_t subvolumes) {
  return as_in_validation(model, subvolumes) ? model.validation.calibration_per_universe
                                             : model.validation.calibration_per_subvolume;
}

}  // namespace cosmo::infer
