#pragma once

#include <filesystem>
#include <vector>

#include "infer/predictor.hpp"

namespace cosmo::infer {

/// The parameters of one universe, (P) each.
struct UniversePrediction {
  int subvolumes;             ///< cut from the universe, each predicted on its own
  std::vector<double> value;  ///< universe_distribution's
  std::vector<double> error;  ///< its deviation
  bool of_universes;  ///< error is that of whole universes; else of single sub-volumes, being cut otherwise
};

/// Predicts the universe whose counts are in the file. Throws Error{config} if its voxels do not fit the
/// model, Error{io} or Error{format} if it cannot be read.
UniversePrediction predict_universe(Predictor& predictor, const std::filesystem::path& counts);

}  // namespace cosmo::infer
