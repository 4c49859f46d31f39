#pragma once
// The baseline of a network: a regression on the samples' summary statistics.

#include "core/log.hpp"
#include "core/output/output_directory.hpp"
#include "core/parallel/communicator.hpp"
#include "dataset/load/split_reader.hpp"
#include "dataset/regression/baseline_labels.hpp"

namespace cosmo::train {

/// Returns the regression's predictions for the validation samples. Reads nn::kBaselineFile in the output
/// directory or, without it, measures the samples' statistics, learns the regression and writes the file.
/// Throws an agreed Error{config} for fewer than two training universes. Collective.
dataset::BaselineLabels prepare_baseline(const core::Communicator& comm, const core::Log& log,
                                         core::OutputDirectory& output, dataset::SplitReader& training,
                                         dataset::SplitReader& validation, const dataset::VoxelScale& scale);

}  // namespace cosmo::train
