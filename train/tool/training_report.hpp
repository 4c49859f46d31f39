#pragma once
// What a training tells of itself, before and after.

#include <span>
#include <string>

#include "core/run/stage.hpp"
#include "dataset/load/read_report.hpp"
#include "train/loop/trainer.hpp"
#include "train/nn/network.hpp"
#include "train/plan/training_plan.hpp"

namespace cosmo::train {

/// Tells what runs the network, and warns of what is slow.
void announce(const core::Log& log, std::span<const nn::OperationRecord> operations);

/// The summary's facts that follow from the plan.
core::Json facts_of(const TrainingPlan& plan, const nn::NetworkCensus& census, int ranks);

/// "80 epochs of 480 samples in steps of 16, ...", a line.
std::string outline(const core::Invocation& run, const TrainingPlan& plan,
                    const dataset::DatasetManifest& data);

/// How a training went; what is referred to must outlive this.
struct TrainingOutcome {
  Ending ending;
  double seconds;  ///< of the run
  const TrainingProgress& progress;
  const EpochMetrics* best;  ///< null before an epoch is finished
  const TrainingMonitor& monitor;
  dataset::ReadReport reading;
  StragglerReport stragglers;
};

/// How far a training has come.
core::Report report_of(const TrainingPlan& plan, const TrainingOutcome& outcome);

}  // namespace cosmo::train
