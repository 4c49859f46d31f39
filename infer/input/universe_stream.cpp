#include "infer/input/universe_stream.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/error.hpp"
#include "infer/predict/predictor.hpp"

namespace cosmo::infer {

UniverseStream::UniverseStream(Models models, const std::vector<std::string>& directories)
    : models_(models),
      ensemble_(models, directories, batch_of(models.front())),
      inputs_(transform_of(models.front()), static_cast<std::size_t>(models.front().input.cells())),
      voxels_(static_cast<std::size_t>(models.front().input.elements()) *
              static_cast<std::size_t>(batch_of(models.front()))) {
  const nn::ModelManifest& model = models.front();
  if (!model.range && !need_statistics(models)) return;
  const double side = model.input.voxel_size.value * model.input.size;
  summary_.emplace(core::GridSpec{model.input.size, side}, scale_of(model));
}

void UniverseStream::add(const UniverseCounts& universe, const std::string& name) {
  added_.push_back({name, {}, {}});
  universe.kind() == dataset::VoxelKind::counts ? add_all<std::uint16_t>(universe) : add_all<float>(universe);
}

template <class Voxel>
void UniverseStream::add_all(const UniverseCounts& universe) {
  const nn::ModelManifest& model = models_.front();
  const auto channel = static_cast<std::size_t>(model.input.cells());
  std::vector<Voxel> sample(static_cast<std::size_t>(model.input.elements()));
  core::ensure(
      universe.subvolumes() == 1 || model.normalisation.smooth == 0, core::Fault::config,
      "{} has a box larger than the samples of the model, which was trained with --smooth on whole boxes: give "
      "universes of its box.",
      added_.back().name);
  bool empty = true;
  for (int n = 0; n < universe.subvolumes(); ++n) {
    universe.read(n, std::span(sample));
    empty = empty && std::ranges::all_of(sample, [](Voxel value) { return value == Voxel{}; });
    if (summary_) {
      std::vector<dataset::SummaryStatistics> channels;
      for (std::size_t first = 0; first < sample.size(); first += channel)
        channels.push_back(
            summary_->of(std::span<const Voxel>(sample).subspan(first, channel), channels.size()));
      measure(added_.back(), channels);
    }
    inputs_.make(std::span<const Voxel>(sample),
                 voxels_.span().subspan(owner_.size() * sample.size(), sample.size()));
    owner_.push_back(added_.size() - 1);
    if (owner_.size() == static_cast<std::size_t>(batch_of(model))) predict();
  }
  core::ensure(!empty, core::Fault::config, "{} has {}: there is nothing to predict from; check the file.",
               added_.back().name,
               universe.kind() == dataset::VoxelKind::counts ? "no particle" : "only zeros");
}

void UniverseStream::measure(Added& added, std::span<const dataset::SummaryStatistics> channels) const {
  if (models_.front().range) {
    for (const dataset::SummaryStatistics& channel : channels) {
      added.result.figures.push_back(channel.mean);
      std::ranges::copy(channel.power, std::back_inserter(added.result.figures));
    }
  }
  if (need_statistics(models_))
    added.statistics.emplace_back().channels.assign(channels.begin(), channels.end());
}

void UniverseStream::predict() {
  const std::size_t width = outputs_of(models_);
  const auto sample = static_cast<std::size_t>(models_.front().input.elements());
  std::ranges::fill(voxels_.span().subspan(owner_.size() * sample), 0.0f);
  const std::span<const float> outputs = ensemble_.predict(voxels_.span());
  for (std::size_t row = 0; row < owner_.size(); ++row)
    std::ranges::copy(outputs.subspan(row * width, width),
                      std::back_inserter(added_[owner_[row]].result.outputs));
  owner_.clear();
}

std::vector<UniverseOutputs> UniverseStream::finish() {
  if (!owner_.empty()) predict();
  const core::LengthUnit unit = models_.front().input.voxel_size.unit;
  const std::size_t width = width_of(models_);
  std::vector<UniverseOutputs> results;
  for (Added& added : added_) {
    std::vector<float>& outputs = added.result.outputs;
    // Each by itself, as the sums of a regression on more rows are rounded otherwise.
    if (need_statistics(models_))
      outputs =
          ensemble_.complete(outputs, {std::move(added.statistics), summary_->k(), summary_->modes(), unit});
    ensure_finite(outputs, width,
                  [&](std::size_t n) { return fmt::format("{}, sub-volume {}", added.name, n); });
    results.push_back(std::move(added.result));
  }
  added_.clear();
  return results;
}

}  // namespace cosmo::infer
