#pragma once

#include <optional>

#include "core/parallel/communicator.hpp"
#include "dataset/load/split_reader.hpp"
#include "dataset/quantity/voxel_transform.hpp"
#include "nn/model/model_manifest.hpp"

namespace cosmo::train {

/// Returns the range that the training samples cover, from up to 256 samples (64 if they are large), spread
/// evenly over the split: the same bits for any number of ranks and threads. Nothing if they are too small
/// for a P(k). Collective over comm; throws on every rank the errors of SplitReader::read.
std::optional<nn::InputRange> measure_input_range(const core::Communicator& comm,
                                                  dataset::SplitReader& training,
                                                  const dataset::VoxelScale& scale);

}  // namespace cosmo::train
