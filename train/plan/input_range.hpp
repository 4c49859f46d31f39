#pragma once

#include <optional>

#include "core/parallel/communicator.hpp"
#include "dataset/load/split_reader.hpp"
#include "dataset/shard/voxel_transform.hpp"
#include "train/nn/model/model_manifest.hpp"

namespace cosmo::train {

/// What the training samples span, of which up to 256 are looked at (of large samples 64), spread evenly over
/// the split: the same bits for any number of ranks and threads. Nothing if they are too small for a P(k).
/// Collective over comm; throws on every rank what SplitReader::read does.
std::optional<nn::InputRange> measure_input_range(const core::Communicator& comm,
                                                  dataset::SplitReader& training,
                                                  const dataset::VoxelScale& scale);

}  // namespace cosmo::train
