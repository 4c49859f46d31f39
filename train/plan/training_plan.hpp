#pragma once
// The training that a command line of cosmo-train requests, and the settings that identify it.

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/named.hpp"
#include "core/output/manifest.hpp"
#include "core/run/options.hpp"
#include "dataset/shard/dataset_manifest.hpp"
#include "nn/arithmetic.hpp"
#include "nn/census.hpp"
#include "nn/network_spec.hpp"
#include "nn/output/output.hpp"
#include "nn/parameter.hpp"
#include "train/gradient/gradient_sum.hpp"
#include "train/gradient/sum_order.hpp"
#include "train/optimizer/optimizer_table.hpp"
#include "train/plan/network_options.hpp"
#include "train/plan/recipe.hpp"

namespace cosmo::train {

struct TrainingPlan {
  std::string recipe;
  std::string data;
  std::string directory;    ///< where the model is written
  nn::NetworkSpec network;  ///< with its number of outputs set
  nn::Shape input;
  int parameters;  ///< number of parameters to predict
  int epochs;
  int decay_epochs;
  int global_batch;
  int micro_batch;  ///< samples that a rank, or a group of ranks that share them, works on at once
  SampleCut cut;
  std::uint64_t seed;
  core::Named<nn::Precision> precision;
  core::Named<nn::ConvolutionMethod> convolution;
  nn::Arithmetic arithmetic;
  nn::Output output{"mae", 0};  ///< what the network predicts
  const OptimizerEntry* optimizer;
  OptimizerSettings optimizer_settings;
  DecayShape decay;
  double clip_norm;   ///< largest norm of gradients; infinite for no limit
  double average;     ///< decay of the weights' average; 0 for none
  int choice_epochs;  ///< epochs over which the validation loss that chooses the best one is averaged
  double learning_rate;
  double min_learning_rate;
  double warmup_epochs;
  std::vector<double> decay_at;  ///< epochs from which the rate is multiplied by decay_by
  std::vector<double> decay_by;
  WireFormat wire;  ///< format of gradients sent between ranks
  SumOrder order;   ///< order of the sum over samples
  std::string voxels;
  bool augment;
  bool roll;                                                    ///< roll whole periodic boxes
  double time_limit = std::numeric_limits<double>::infinity();  ///< limit for this run [s]
  double checkpoint_interval;                                   ///< [s]

  /// Micro-batches per step on one of `ranks` ranks.
  int micro_batches_per_step(int ranks) const {
    return global_batch / (micro_batch * (ranks / cut.ranks_per_sample));
  }
  /// The learning rate of each step.
  LearningRate schedule(std::int64_t steps_per_epoch) const;
};

/// Default of --micro-batch, the samples that a rank, or a group of ranks, works on at once: a divisor of its share of
/// the global batch, at most the number whose elements make up one 128³ volume, or four volumes for networks that
/// normalise, whose trunks run twice for all micro-batches of a step except the last.
int default_micro_batch(int global_batch, int groups, nn::Shape input, bool normalises);

/// Reads and checks the options against the data set. Throws Error{usage} or Error{config}.
TrainingPlan read_training_plan(const core::Options& options, const dataset::DatasetManifest& data,
                                int ranks);

/// Makes the plan's optimizer, in its initial state, for parameters that must outlive it.
std::unique_ptr<Optimizer> make_optimizer(const TrainingPlan& plan, std::span<const nn::Parameter> parameters,
                                          std::int64_t steps_per_epoch);

/// The request that identifies the training: everything except directories, ranks and their groups, micro-batch, time limit
/// and checkpoint interval.
core::Request request_of(const TrainingPlan& plan, const dataset::DatasetManifest& data);

}  // namespace cosmo::train
