#pragma once
// The training that a command line of cosmo-train requests: one section for each kind of settings. A section declares
// its options, reads and checks them, and states them where they identify a training and in MLPerf's log.

#include <string>

#include "core/output/manifest.hpp"
#include "core/run/options.hpp"
#include "dataset/shard/dataset_manifest.hpp"
#include "nn/census.hpp"
#include "train/log/mlperf_log.hpp"
#include "train/plan/batching.hpp"
#include "train/plan/limits.hpp"
#include "train/plan/method.hpp"
#include "train/plan/network_choice.hpp"
#include "train/plan/number_formats.hpp"
#include "train/plan/objective.hpp"
#include "train/plan/schedule.hpp"
#include "train/state/checkpoint.hpp"

namespace cosmo::train {

struct TrainingPlan {
  std::string recipe;
  std::string data;
  std::string directory;  ///< where the model is written
  nn::Shape input;
  int epochs;
  NetworkChoice network;  ///< with its number of outputs set
  Objective objective;
  Batching batching;
  NumberFormats formats;
  Method method;
  Schedule schedule;
  Limits limits;

  Goal goal() const { return {epochs, limits.until}; }
  /// The figures of the network.
  nn::NetworkCensus census() const {
    return nn::take_census(network.spec, input, objective.output.shape().channels);
  }
};

/// Declares the options of a training.
void declare_training(core::Options& options);

/// Reads and checks the options against the data set. Throws Error{usage} or Error{config}.
TrainingPlan read_training_plan(const core::Options& options, const dataset::DatasetManifest& data,
                                int ranks);

/// The request that identifies the training: everything except directories, ranks, micro-batch, time limit and checkpoint
/// interval.
core::Request request_of(const TrainingPlan& plan, const dataset::DatasetManifest& data);

/// What MLPerf's log states of the machine.
struct Platform {
  std::string name;
  int ranks, nodes;
};

/// Writes the submission's and the training's settings.
void log_settings(MlperfLog& log, const TrainingPlan& plan, const dataset::DatasetManifest& data,
                  const Platform& platform);

}  // namespace cosmo::train
