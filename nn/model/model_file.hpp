#pragma once
// Weights in files: datasets named GROUP/LAYER/weights and GROUP/LAYER/biases in plain row-major layouts, so
// that a file does not depend on the machine that wrote it.

#include <filesystem>
#include <span>
#include <string>

#include "core/hdf5/hdf5.hpp"
#include "nn/model/model_manifest.hpp"
#include "nn/network.hpp"

namespace cosmo::nn {

/// Writes `arena`, laid out like network.weights(), under `group`.
void write_arena(core::hdf5::File& file, const std::string& group, const Network& network,
                 std::span<const float> arena);

/// Reads an arena that write_arena wrote. Throws Error{format} if the file does not hold this network's
/// parameters.
void read_arena(const core::hdf5::File& file, const std::string& group, const Network& network,
                std::span<float> arena);

/// Loads the weights of the best epoch from the model's directory into `network`, made for `model`. Throws
/// Error{format} if the file differs from what the manifest records, Error{numeric} if any weight is not
/// finite.
void read_weights(const std::filesystem::path& directory, const ModelManifest& model, Network& network);

}  // namespace cosmo::nn
