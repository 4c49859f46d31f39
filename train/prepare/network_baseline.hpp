#pragma once
// The baseline of a network: a regression on the samples' summary statistics.

#include <optional>

#include "core/log.hpp"
#include "core/output/output_directory.hpp"
#include "core/parallel/communicator.hpp"
#include "dataset/load/split_reader.hpp"
#include "dataset/regression/baseline_labels.hpp"
#include "dataset/regression/learned_baselines.hpp"

namespace cosmo::train {

/// Returns the regression's predictions for the validation samples: those of nn::kBaselineFile in the output
/// directory or, without it, those of the summary statistics' regression in `learned`, which goes to that file. Throws
/// an agreed Error{config} for fewer than two training universes. Collective.
dataset::BaselineLabels prepare_baseline(const core::Communicator& comm, const core::Log& log,
                                         core::OutputDirectory& output,
                                         const std::optional<dataset::LearnedBaselines>& learned,
                                         dataset::SplitReader& validation, const dataset::VoxelScale& scale);

}  // namespace cosmo::train
