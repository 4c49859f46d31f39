#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "core/universe/cosmic_web.hpp"
#include "core/universe/length.hpp"

namespace cosmo::infer {

/// What a file of a predicted field states.
struct PredictedField {
  std::string quantity;  ///< the name of the data set
  double redshift;
  int side;           ///< voxels per side
  core::Length box;   ///< side of the box
  std::string model;  ///< sha256 of the first network's weights
  std::optional<std::uint64_t> seed = {};
  std::optional<core::WebDefinition> web = {};  ///< what classes mean, if it is known
};

/// Writes /QUANTITY, float32 (side, side, side) in physical units, with attributes schema "cosmo.predicted-field/1", quantity,
/// redshift, box and voxel (box_mpc, voxel_mpc), model, code_version, seed, and of classes web_radius and web_threshold. Throws Error{io}.
void write_predicted_field(const std::filesystem::path& path, const PredictedField& field,
                           std::span<const float> values);
/// The same of classes, uint8.
void write_predicted_field(const std::filesystem::path& path, const PredictedField& field,
                           std::span<const std::uint8_t> classes);

}  // namespace cosmo::infer
