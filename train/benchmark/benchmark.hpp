#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "core/format/json.hpp"
#include "dataset/load/sample_groups.hpp"
#include "nn/network.hpp"
#include "train/plan/sample_cut.hpp"

namespace cosmo::train {

/// How a step spends its time on rank 0 [s]: those parts of Fig. 3 of Mathuriya et al. 2018 that a program
/// can measure itself.
struct StepBreakdown {
  double convolution;
  double other_compute;  ///< dense layers, pools, activations, loss, optimizer
  double reorders;       ///< between layouts
  double waiting;        ///< wait for the slowest rank before the gradients are reduced
  double communication;  ///< reduction that computation does not hide, and exchanges of planes
  double input;          ///< copying voxels into the network
};

/// The parts by name, in order.
inline constexpr std::array kStepParts = {std::pair{"convolution", &StepBreakdown::convolution},
                                          std::pair{"other_compute", &StepBreakdown::other_compute},
                                          std::pair{"reorders", &StepBreakdown::reorders},
                                          std::pair{"waiting", &StepBreakdown::waiting},
                                          std::pair{"communication", &StepBreakdown::communication},
                                          std::pair{"input", &StepBreakdown::input}};

/// The cost of a training step on synthetic data: input, forward, loss, backward, reduction, optimizer.
struct BenchmarkResult {
  nn::NetworkCensus census;
  int batch;  ///< samples per step of a rank, or of a group of ranks that share them
  int ranks;
  SampleCut cut;
  int steps;                                    ///< that were timed
  double step_time;                             ///< [s] median, operations untimed
  double forward_time;                          ///< [s] median of the same steps' forward passes
  double peak;                                  ///< [flop/s] measured peak of all ranks together
  std::string peak_unit;                        ///< instructions that reached it
  double peak_rss;                              ///< [bytes] resident memory of the largest rank
  std::vector<nn::OperationRecord> operations;  ///< rank 0's, with median times in steps that time them
  StepBreakdown breakdown;                      ///< median of each part in the same steps

  double useful_rate() const;   ///< [flop/s] useful flops of all ranks together
  double forward_rate() const;  ///< [flop/s] forward passes of all ranks together
  /// Ranks, or groups of ranks that share samples.
  int groups() const { return ranks / cut.ranks_per_sample; }
  core::Json to_json() const;
  /// Time and rate of each layer with weights, forward and for both gradients, like Table I of the paper,
  /// followed by the breakdown; lines end in \n.
  std::string tables() const;
};

/// The network to time, for inputs (channels, size³) and `batch` samples per rank or group of ranks.
struct BenchmarkConfig {
  nn::NetworkSpec network;
  nn::Shape input;
  int outputs;
  int batch;
  nn::Arithmetic arithmetic;
  SampleCut cut;
  SumOrder order = SumOrder::layout;
  double duration = 3;  ///< [s] of timed steps, or a few steps if they take longer
};

/// Times training steps on random voxels. The peak depends on the precision: that of fused multiply-adds for
/// f32, that of the CPU's best bf16 units for bf16. Collective over all ranks.
BenchmarkResult benchmark(const dataset::SampleGroups& ranks, const BenchmarkConfig& config, int threads);

}  // namespace cosmo::train
