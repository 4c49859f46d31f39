#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/format/json.hpp"
#include "core/parallel/communicator.hpp"
#include "dataset/load/data_loader.hpp"
#include "train/nn/model/model_manifest.hpp"

namespace cosmo::infer {

/// What the networks of an ensemble allocate to predict batches of this size. [bytes]
std::uint64_t network_bytes(std::span<const nn::ModelManifest> models, int batch);

/// What predicting a split takes a rank [bytes]: what it has now, the networks for batches of the loader's
/// size, and what is read ahead; however many samples there are. Builds the networks' primitives.
std::uint64_t memory_bytes(std::span<const nn::ModelManifest> models, const dataset::SampleSpec& spec,
                           const dataset::LoaderConfig& loader);

/// What the predictions of a split took.
struct Costs {
  std::uint64_t memory_predicted = 0;  ///< of the largest rank [bytes]
  std::uint64_t memory_peak = 0;       ///< of the largest rank, when all was predicted [bytes]
  std::uint64_t samples = 0;
  double seconds = 0;  ///< of the slowest rank, from the first batch asked for to the last one predicted
  double waited = 0;   ///< of these, for data
  double flop = 0;     ///< useful ones of a sample, of all networks

  /// Notes that all ranks together predicted so many samples, in `own_seconds` of this one. Collective.
  void note(const core::Communicator& comm, std::span<const nn::ModelManifest> models,
            std::uint64_t all_samples, double own_seconds, const dataset::ReadStatistics& reading);
  /// {"samples", "seconds", "samples_per_second", "gflops", "waiting_seconds", "memory_bytes_predicted",
  /// "peak_rss_bytes"}
  core::Json to_json() const;
  std::string text() const;
};

}  // namespace cosmo::infer
