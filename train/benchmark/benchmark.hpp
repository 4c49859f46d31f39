#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "core/format/json.hpp"
#include "core/parallel/communicator.hpp"
#include "train/nn/network.hpp"

namespace cosmo::train {

/// Where the time of a step goes on rank 0 [s]: the parts of Fig. 3 of Mathuriya et al. 2018 that a program
/// can tell of itself.
struct StepBreakdown {
  double convolution;
  double other_compute;  ///< dense layers, pools, activations, loss, optimizer
  double reorders;       ///< between layouts
  double waiting;        ///< for the slowest rank, before the gradients are reduced
  double communication;  ///< reduction that compute does not hide
  double input;          ///< voxels into the network
};

/// The parts by name, in order.
inline constexpr std::array kStepParts = {std::pair{"convolution", &StepBreakdown::convolution},
                                          std::pair{"other_compute", &StepBreakdown::other_compute},
                                          std::pair{"reorders", &StepBreakdown::reorders},
                                          std::pair{"waiting", &StepBreakdown::waiting},
                                          std::pair{"communication", &StepBreakdown::communication},
                                          std::pair{"input", &StepBreakdown::input}};

/// What a training step costs, on synthetic data: input, forward, loss, backward, reduction, optimizer.
struct BenchmarkResult {
  nn::NetworkCensus census;
  int batch;  ///< samples a rank and step
  int ranks;
  double step_time;                             ///< [s] median, operations untimed
  double forward_time;                          ///< [s] median of the same steps' forward passes
  double peak;                                  ///< [flop/s] measured peak of all ranks together
  std::string peak_unit;                        ///< what reached it
  double peak_rss;                              ///< [bytes] of the largest rank
  std::vector<nn::OperationRecord> operations;  ///< of rank 0, with median times in steps that time them
  StepBreakdown breakdown;                      ///< median of each part in the same steps

  double useful_rate() const;   ///< [flop/s] of all ranks together
  double forward_rate() const;  ///< [flop/s] of forward passes, of all ranks together
  core::Json to_json() const;
  /// Time and rate of each layer with weights, forward and for both gradients, as Table I of the paper, then
  /// the breakdown; lines end in \n.
  std::string tables() const;
};

/// What is timed: a network for inputs (channels, size³), on `batch` samples a rank.
struct BenchmarkConfig {
  nn::NetworkSpec network;
  nn::Shape input;
  int outputs;
  int batch;
  nn::Precision precision;
};

/// Times training steps on random voxels. The peak is that of the precision: of fused multiply-adds in f32,
/// in bf16 that of the best units that the CPU has for it. Collective over comm.
BenchmarkResult benchmark(const core::Communicator& comm, const BenchmarkConfig& config, int threads);

}  // namespace cosmo::train
