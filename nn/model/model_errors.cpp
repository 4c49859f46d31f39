// How far the predictions of a model are off, and whether its training failed.
#include <algorithm>
#include <cmath>

#include "nn/model/model_manifest.hpp"

namespace cosmo::nn {

namespace {

/// The standard deviation of values spread evenly over the range of parameter p.
double even_deviation(const core::ParameterSpace& parameters, std::size_t p) {
  return (parameters.high[p] - parameters.low[p]) / std::sqrt(12.0);
}

}  // namespace

std::vector<double> ModelManifest::label_deviations() const {
  std::vector<double> deviations;
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    const double measured = labels ? labels->standard_deviation[p] : 0;
    deviations.push_back(measured > 0 ? measured : even_deviation(parameters, p));
  }
  return deviations;
}

std::vector<double> ModelManifest::scaled_errors() const {
  std::vector<double> errors = validation.per_universe;
  const std::vector<double> deviations = label_deviations();
  for (std::size_t p = 0; p < errors.size(); ++p) errors[p] /= deviations[p];
  return errors;
}

std::vector<double> ModelManifest::errors_of_mean() const {
  std::vector<double> errors = label_deviations();
  for (std::size_t p = 0; labels && p < labels->validation_rms.size(); ++p)
    if (labels->validation_rms[p] > 0) errors[p] = labels->validation_rms[p];
  return errors;
}

std::vector<std::string> ModelManifest::below_centre() const {
  std::vector<std::string> names;
  const std::vector<double> of_mean = errors_of_mean();
  for (std::size_t p = 0; p < validation.per_universe.size(); ++p)
    if (validation.per_universe[p] >= of_mean[p]) names.push_back(parameters.names[p]);
  return names;
}

double ModelManifest::loss_of_constant() const {
  if (const auto* classes = std::get_if<Classes>(&output.kind()))
    return classes->constant_loss(target->volumes.shares());
  return 1;  // training voxels have a deviation of 1
}

bool ModelManifest::diverged() const {
  // A training of few steps has only begun: there it takes more to have failed.
  constexpr std::int64_t kFewSteps = 20;
  const bool begun = !checkpoints.empty() && checkpoints.back().step < kFewSteps;
  const double limit = begun ? 1000 : 10;
  if (target) {
    const bool chosen = std::ranges::any_of(checkpoints, &CheckpointRecord::best);
    return chosen && best().validation_loss.value_or(0) > limit * loss_of_constant();
  }
  const std::vector<double> deviations = label_deviations();
  double error = 0, of_the_mean = 0;
  for (std::size_t p = 0; p < validation.per_subvolume.size(); ++p) {
    const double unit = 2 / (parameters.high[p] - parameters.low[p]);
    error += std::pow(unit * validation.per_subvolume[p], 2);
    of_the_mean += std::pow(unit * std::max(deviations[p], even_deviation(parameters, p)), 2);
  }
  return error > limit * of_the_mean;
}

}  // namespace cosmo::nn
