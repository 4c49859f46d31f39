#include "infer/predictor.hpp"

#include <algorithm>

#include "core/hdf5.hpp"
#include "train/nn/model_file.hpp"

namespace cosmo::infer {

Predictor::Predictor(const std::filesystem::path& directory, int batch)
    : model_(nn::load_model_manifest(directory)),
      network_(model_.network, model_.input, static_cast<int>(model_.parameters.size()), batch,
               nn::Mode::inference) {
  const std::string& checkpoint = model_.best().path;
  core::check_content(directory, *model_.base.find(checkpoint));
  nn::read_arena(core::hdf5::File::open(directory / checkpoint), "weights", network_, network_.weights());
}

dataset::VoxelTransform Predictor::transform() const {
  return {model_.normalisation.voxels, model_.normalisation.offset, model_.normalisation.scale};
}

std::span<const float> Predictor::predict(std::span<const float> voxels) {
  std::copy(voxels.begin(), voxels.end(), network_.input().begin());
  return network_.forward();
}

}  // namespace cosmo::infer
