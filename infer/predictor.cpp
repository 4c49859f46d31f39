#include "infer/predictor.hpp"

#include <algorithm>

#include "core/hdf5.hpp"
#include "train/nn/model_file.hpp"

namespace cosmo::infer {

std::size_t memory_bytes(const nn::ModelManifest& model, int batch) {
  const nn::NetworkCensus census = nn::take_census(model.network, model.input, model.outputs());
  std::int64_t largest = 0;
  for (const nn::LayerCensus& layer : census.layers) largest = std::max(largest, layer.output.elements());
  return sizeof(float) *
         static_cast<std::size_t>(census.parameters() + batch * (2 * model.input.elements() + 2 * largest));
}

Predictor::Predictor(const std::filesystem::path& directory, int batch)
    : model_(nn::load_model_manifest(directory)),
      network_(model_.network, model_.input, model_.outputs(), batch, nn::Mode::inference) {
  const std::string& checkpoint = model_.best().path;
  core::check_content(directory, *model_.base.find(checkpoint));
  nn::read_arena(core::hdf5::File::open(directory / checkpoint), "weights", network_, network_.weights());
}

dataset::VoxelTransform transform_of(const nn::ModelManifest& model) {
  return {model.normalisation.voxels, model.normalisation.offset, model.normalisation.scale};
}

std::span<const float> Predictor::predict(std::span<const float> voxels) {
  std::copy(voxels.begin(), voxels.end(), network_.input().begin());
  return network_.forward();
}

}  // namespace cosmo::infer
