#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/format/json.hpp"
#include "core/parallel/communicator.hpp"
#include "dataset/load/data_loader.hpp"
#include "infer/predict/model.hpp"
#include "nn/cut/cut_plan.hpp"

namespace cosmo::infer {

/// What the networks of an ensemble allocate to predict batches of this size; `shares`: a rank's of each, if ranks share
/// each sample. [bytes]
std::uint64_t network_bytes(Models models, int batch, std::span<const nn::Share> shares = {});

/// Bytes that a rank needs to predict a split: what it holds now, the networks for batches of the loader's
/// size, and what is read ahead, whatever the number of samples. Builds the networks' primitives.
std::uint64_t memory_bytes(Models models, const dataset::SampleSpec& spec,
                           const dataset::LoaderConfig& loader, std::span<const nn::Share> shares);

/// What the predictions of a split took.
struct Costs {
  std::uint64_t memory_predicted = 0;  ///< prediction for the largest rank [bytes]
  std::uint64_t memory_peak = 0;       ///< peak of the largest rank, when all was predicted [bytes]
  std::uint64_t samples = 0;
  double seconds = 0;  ///< time of the slowest rank, from asking for the first batch to predicting the last
  double waited = 0;   ///< longest time that a rank waited for data
  double flop = 0;     ///< useful operations per sample, of all networks

  /// Notes that all ranks together predicted `all_samples`, this one in `own_seconds`. Collective.
  void note(const core::Communicator& comm, Models models, std::uint64_t all_samples, double own_seconds,
            const dataset::ReadStatistics& reading);
  /// {"samples", "seconds", "samples_per_second", "gflops", "waiting_seconds", "memory_bytes_predicted",
  /// "peak_rss_bytes"}
  core::Json to_json() const;
  std::string text() const;
};

}  // namespace cosmo::infer
