#pragma once
// Weights in files: datasets named GROUP/LAYER/weights and GROUP/LAYER/biases in plain row-major layouts, so
// that a file does not depend on the machine that wrote it.

#include <span>
#include <string>

#include "core/hdf5.hpp"
#include "train/nn/network.hpp"

namespace cosmo::nn {

/// Writes `arena`, laid out as network.weights() is, under `group`.
void write_arena(core::hdf5::File& file, const std::string& group, const Network& network,
                 std::span<const float> arena);

/// Reads what write_arena wrote. Throws Error{format} if the file does not hold this network's parameters.
void read_arena(const core::hdf5::File& file, const std::string& group, const Network& network,
                std::span<float> arena);

}  // namespace cosmo::nn
