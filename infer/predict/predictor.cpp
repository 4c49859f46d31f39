#include "infer/predict/predictor.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "core/hdf5/hdf5.hpp"
#include "nn/cut/cut_plan.hpp"
#include "nn/model/model_file.hpp"
#include "nn/model/model_posterior.hpp"

namespace cosmo::infer {

Predictor::Predictor(const std::filesystem::path& directory, int batch, const nn::Share* share,
                     std::size_t features)
    : model_(nn::load_model_manifest(directory)),
      network_(model_.network, model_.network_input(), model_.outputs(), batch, nn::Mode::inference,
               arithmetic_of(model_), share),
      features_(features) {
  const std::size_t own = network_.features().size() / static_cast<std::size_t>(batch);
  core::ensure(features == 0 || features == own, core::Fault::format,
               "{} has distances of {} features, and its network {}: fit the posterior again.",
               (directory / nn::kPosteriorFile).string(), features, own);
  nn::read_weights(directory, model_, network_);
  if (model_.network.baseline.empty()) return;
  regression_file_ = directory / nn::kBaselineFile;
  regression_ = dataset::StatisticsRegression::read(directory, model_.base, nn::kBaselineFile,
                                                    model_.parameters.size());
}

dataset::VoxelTransform transform_of(const nn::ModelManifest& model) {
  const nn::InputNormalisation& normalisation = model.normalisation;
  dataset::VoxelTransform transform{
      normalisation.voxels, {}, dataset::kind_in_model(normalisation.voxels, normalisation.mean_count)};
  for (std::size_t c = 0; c < normalisation.scale.size(); ++c)
    transform.maps.push_back({normalisation.offset[c], normalisation.scale[c]});
  transform.smoothing = normalisation.smooth / model.input.voxel_size.value;
  transform.reconstruction = normalisation.reconstruct / model.input.voxel_size.value;
  transform.velocity = normalisation.velocity;
  transform.tides = normalisation.tides / model.input.voxel_size.value;
  transform.tides_map = {normalisation.tides_offset, normalisation.tides_scale};
  return transform;
}

dataset::VoxelScale scale_of(const nn::ModelManifest& model) {
  const dataset::VoxelTransform transform = transform_of(model);
  if (transform.kind == dataset::VoxelKind::counts) return {transform.kind, model.normalisation.mean_count};
  std::vector<dataset::ChannelScale> channels;
  for (const dataset::VoxelMap& map : transform.maps) channels.push_back({map.offset, 1 / map.scale});
  const auto [mean, deviation] = channels.front();
  if (channels.size() == 1) channels.clear();
  return {transform.kind, mean, deviation, dataset::curve_of(transform.name), channels};
}

std::span<const float> Predictor::predict(std::span<const float> voxels) {
  network_.set_input(voxels);
  if (features_ == 0) return network_.forward();
  nn::forward_with_features(network_, rows_);
  return rows_;
}

std::vector<float> Predictor::regression(const dataset::StatisticsTable& statistics) const {
  if (!regression_) return {};
  core::ensure(regression_->fits(statistics), core::Fault::format,
               "{} has learned from other statistics than these data have: restore it, or train again.",
               regression_file_.string());
  return regression_->predict(statistics);
}

}  // namespace cosmo::infer
