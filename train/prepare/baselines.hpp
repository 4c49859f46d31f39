#pragma once
// What the training universes teach without a network, for cosmo-infer to compare it with.

#include <optional>

#include "core/log.hpp"
#include "core/parallel/communicator.hpp"
#include "dataset/load/split_reader.hpp"
#include "dataset/regression/learned_baselines.hpp"

namespace cosmo::train {

/// Summarises the samples of the first kMostTrainingUniverses universes of the split, learns from them, and logs how
/// long that took: the same bits for any number of ranks and threads. Nothing if samples are too small for a P(k).
/// Collective; throws on every rank the errors of SplitReader::read, and Error{stopped}.
std::optional<dataset::LearnedBaselines> measure_baselines(const core::Communicator& comm,
                                                           const core::Log& log,
                                                           dataset::SplitReader& training,
                                                           const dataset::VoxelScale& scale);

}  // namespace cosmo::train
