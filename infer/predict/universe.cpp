#include "infer/predict/universe.hpp"

#include <algorithm>

#include "core/buffer.hpp"
#include "core/error.hpp"
#include "dataset/voxels/input_maker.hpp"
#include "infer/predict/familiarity.hpp"

namespace cosmo::infer {

namespace {

/// The statistics of every sub-volume.
dataset::StatisticsTable summarise_universe(const nn::ModelManifest& model, const UniverseCounts& universe) {
  const core::Length voxel = model.input.voxel_size;
  dataset::SampleSummary summary({model.input.size, voxel.value * model.input.size}, scale_of(model));
  dataset::StatisticsTable table{{}, summary.k(), summary.modes(), voxel.unit};
  const auto channel = static_cast<std::size_t>(model.input.cells());
  std::vector<std::uint16_t> counts(static_cast<std::size_t>(model.input.elements()));
  for (int n = 0; n < universe.subvolumes(); ++n) {
    universe.read(n, counts);
    dataset::SampleStatistics& row = table.rows.emplace_back();
    for (std::size_t first = 0; first < counts.size(); first += channel)
      row.channels.push_back(summary.of(std::span<const std::uint16_t>(counts).subspan(first, channel)));
  }
  return table;
}

/// The networks' outputs for every sub-volume, (subvolumes, outputs_of(models)), made batch by batch.
std::vector<float> predict_outputs(Models models, Ensemble& ensemble, const UniverseCounts& universe) {
  const nn::ModelManifest& model = models.front();  // all read the same input
  const auto sample = static_cast<std::size_t>(model.input.elements());
  const int batch = batch_of(model), subvolumes = universe.subvolumes();
  const std::size_t width = outputs_of(models);
  dataset::InputMaker inputs(transform_of(model), static_cast<std::size_t>(model.input.cells()));
  std::vector<std::uint16_t> counts(sample);
  core::Buffer<float> voxels(sample * static_cast<std::size_t>(batch));
  std::vector<float> outputs;
  for (int first = 0; first < subvolumes; first += batch) {
    const int valid = std::min(batch, subvolumes - first);
    std::span<float> rows = voxels.span();
    for (int row = 0; row < valid; ++row, rows = rows.subspan(sample)) {
      universe.read(first + row, counts);
      inputs.make(std::span<const std::uint16_t>(counts), rows.first(sample));
    }
    std::ranges::fill(rows, 0.0f);
    const std::span<const float> predicted =
        ensemble.predict(voxels.span()).first(static_cast<std::size_t>(valid) * width);
    outputs.insert(outputs.end(), predicted.begin(), predicted.end());
  }
  return need_statistics(models) ? ensemble.mix(outputs, summarise_universe(model, universe)) : outputs;
}

}  // namespace

std::vector<std::string> compare_with_training(const nn::ModelManifest& model,
                                               const UniverseCounts& universe) {
  Familiarity familiarity(model);
  std::vector<std::uint16_t> counts(static_cast<std::size_t>(model.input.elements()));
  bool empty = true;
  for (int n = 0; n < universe.subvolumes(); ++n) {
    universe.read(n, counts);
    empty = empty && std::ranges::all_of(counts, [](std::uint16_t count) { return count == 0; });
    familiarity.add(std::span<const std::uint16_t>(counts));
  }
  core::ensure(!empty, core::Fault::config,
               "The universe of --input has no particle: there is nothing to predict from; check the file.");
  return familiarity.warnings();
}

UniversePrediction predict_universe(Models models, Ensemble& ensemble, const UniverseCounts& universe) {
  const std::vector<float> outputs = predict_outputs(models, ensemble, universe);
  const std::size_t width = outputs_of(models);
  ensure_finite(outputs, width, [](std::size_t n) { return fmt::format("sub-volume {}", n); });
  const core::ParameterSpace& parameters = models.front().parameters;
  UniversePrediction result{{parameters, {}}, {}, {}, true};
  for (int n = 0; n < universe.subvolumes(); ++n) {
    const auto row = std::span(outputs).subspan(static_cast<std::size_t>(n) * width, width);
    const Distribution distribution = subvolume_distribution(models, row);
    const std::vector<double> unknown(parameters.size(), 0.0);
    result.subvolumes.rows.push_back({0, n, 0, unknown, distribution.prediction, 0, distribution.deviation});
  }
  const Distribution distribution = universe_distribution(models, outputs);
  result.value = distribution.prediction;
  result.error = distribution.deviation;
  result.of_universes = std::ranges::all_of(models, [&](const nn::ModelManifest& model) {
    return universe.subvolumes() == model.validation.subvolumes;
  });
  return result;
}

}  // namespace cosmo::infer
