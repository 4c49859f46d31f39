#include "infer/universe.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "infer/distribution.hpp"
#include "infer/familiarity.hpp"

namespace cosmo::infer {

namespace {

/// What the network says of every sub-volume, (subvolumes, outputs), the predictor's batch at a time.
std::vector<float> predict_outputs(Predictor& predictor, const UniverseCounts& universe) {
  const auto sample = static_cast<std::size_t>(predictor.model().input.elements());
  const int batch = predictor.batch(), subvolumes = universe.subvolumes();
  dataset::VoxelTable table(predictor.transform());
  std::vector<std::uint16_t> counts(sample);
  std::vector<float> voxels(sample * static_cast<std::size_t>(batch));
  std::vector<float> outputs;
  for (int first = 0; first < subvolumes; first += batch) {
    const int valid = std::min(batch, subvolumes - first);
    std::ranges::fill(voxels, 0.0f);
    for (int row = 0; row < valid; ++row) {
      universe.read(first + row, counts);
      const std::span<const float> lookup = table.for_sample(counts);
      float* to = &voxels[static_cast<std::size_t>(row) * sample];
      for (const std::uint16_t count : counts) *to++ = lookup[count];
    }
    const std::span<const float> predicted = predictor.predict(voxels);
    outputs.insert(outputs.end(), predicted.begin(), predicted.begin() + valid * predictor.model().outputs());
  }
  return outputs;
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

UniversePrediction predict_universe(Predictor& predictor, const UniverseCounts& universe) {
  const nn::ModelManifest& model = predictor.model();
  const std::vector<float> outputs = predict_outputs(predictor, universe);
  const auto stride = static_cast<std::size_t>(model.outputs());
  UniversePrediction result{{model.parameters, {}}, {}, {}, true};
  for (int n = 0; n < universe.subvolumes(); ++n) {
    const auto own = std::span(outputs).subspan(static_cast<std::size_t>(n) * stride, stride);
    const Distribution said = subvolume_distribution({&model, 1}, own);
    const std::vector<double> unknown(model.parameters.size(), 0.0);
    result.subvolumes.rows.push_back({0, n, 0, unknown, said.prediction, 0, said.deviation});
  }
  const Distribution said = universe_distribution({&model, 1}, outputs);
  result.value = said.prediction;
  result.error = said.deviation;
  result.of_universes = universe.subvolumes() == model.validation.subvolumes;
  return result;
}

}  // namespace cosmo::infer
