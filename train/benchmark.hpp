#pragma once

#include "core/communicator.hpp"
#include "core/json.hpp"
#include "train/nn/network.hpp"

namespace cosmo::train {

/// What a training step costs, on synthetic data: forward, loss, backward, reduction, optimizer.
struct BenchmarkResult {
  nn::NetworkCensus census;
  int batch;  ///< samples a rank and step
  int ranks;
  double step_time;  ///< [s] median
  double peak;       ///< [flop/s] measured FMA peak of all ranks together
  double peak_rss;   ///< [bytes] of the largest rank

  double useful_rate() const;  ///< [flop/s] of all ranks together
  core::Json to_json() const;
};

/// Times steps of `spec` on random voxels (channels 1, size³). Collective over comm.
BenchmarkResult benchmark(const core::Communicator& comm, const nn::NetworkSpec& spec, nn::Shape input,
                          int batch, int threads);

}  // namespace cosmo::train
