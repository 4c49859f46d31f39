#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/buffer.hpp"
#include "dataset/measure/summary_statistics.hpp"
#include "dataset/regression/sample_statistics.hpp"
#include "dataset/voxels/input_maker.hpp"
#include "infer/input/universe_counts.hpp"
#include "infer/predict/distribution.hpp"
#include "infer/predict/ensemble.hpp"

namespace cosmo::infer {

/// What the networks and Familiarity get to see of one universe.
struct UniverseOutputs {
  std::vector<float> outputs;  ///< (subvolumes, width_of(models)), with the labels of the models' regressions
  /// (subvolumes, C, 1 + bins): mean and P(k) of each channel; empty for a model that records no range.
  std::vector<double> figures;
};

/// Predicts universes one after the other by one or several models. Their sub-volumes fill the batches together, which
/// changes no bit of an output: for the same samples they are those of a split.
class UniverseStream {
 public:
  /// `models` are those in `directories` and must outlive this. Throws as Predictor does.
  UniverseStream(Models models, const std::vector<std::string>& directories);

  /// Predicts a universe, or what of it fills batches. Throws Error{config} naming it if it has no particle at all.
  void add(const UniverseCounts& universe, const std::string& name);
  /// Predicts what is left, and returns all universes added since the last call, in their order. Throws
  /// Error{numeric} naming the universe for an output that is not finite.
  std::vector<UniverseOutputs> finish();

 private:
  /// A universe that was added.
  struct Added {
    std::string name;
    UniverseOutputs result;
    std::vector<dataset::SampleStatistics> statistics;  ///< for the models' baselines
  };
  template <class Voxel>
  void add_all(const UniverseCounts& universe);
  void measure(Added& added, std::span<const dataset::SummaryStatistics> channels) const;
  void predict();

  Models models_;
  Ensemble ensemble_;
  dataset::InputMaker inputs_;
  std::optional<dataset::SampleSummary> summary_;
  core::Buffer<float> voxels_;      ///< a batch
  std::vector<std::size_t> owner_;  ///< number of the universe of each row that waits
  std::vector<Added> added_;
};

}  // namespace cosmo::infer
