#pragma once
// A training's reports before and after.

#include <span>
#include <string>

#include "core/run/stage.hpp"
#include "dataset/load/read_report.hpp"
#include "nn/model/model_manifest.hpp"
#include "nn/network.hpp"
#include "train/loop/trainer.hpp"
#include "train/plan/training_plan.hpp"

namespace cosmo::train {

/// Logs the implementations that run the network, with a warning about slow ones.
void announce(const core::Log& log, std::span<const nn::OperationRecord> operations);

/// Logs which convolutions --convolution filtered leaves as they are, and why.
void announce_unfiltered(const core::Log& log, nn::ConvolutionMethod method, const nn::NetworkSpec& network,
                         const nn::NetworkCensus& census);

/// The facts in the summary that follow from the plan.
core::Json facts_of(const TrainingPlan& plan, const nn::NetworkCensus& census, int ranks);

/// One line such as "80 epochs of 480 samples in steps of 16, ...".
std::string outline(const core::Invocation& run, const TrainingPlan& plan,
                    const dataset::DatasetManifest& data);

/// How a training went; the objects that it refers to must outlive it.
struct TrainingOutcome {
  Ending ending;
  double seconds;  ///< duration of the run
  const TrainingProgress& progress;
  const EpochMetrics* best;  ///< null before the first epoch is finished
  const TrainingMonitor& monitor;
  dataset::ReadReport reading;
  StragglerReport stragglers;
};

/// The report of how far a training has come, and what it made.
core::Report report_of(const TrainingPlan& plan, const nn::ModelManifest& model,
                       const TrainingOutcome& outcome);

/// The part of the summary of a training that is done on its model: facts and lines, and Error{numeric} as ending if it
/// diverged.
core::Report quality_of(const std::string& directory, const nn::ModelManifest& model);

}  // namespace cosmo::train
