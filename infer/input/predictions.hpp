#pragma once
// What one or several models predict for the universes of --input.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/run/tool.hpp"
#include "infer/input/universe_list.hpp"
#include "infer/predict/distribution.hpp"

namespace cosmo::infer {

/// The parameters of one universe, (P) each.
struct UniversePrediction {
  std::vector<std::vector<double>> subvolumes;  ///< those of each on its own (subvolumes, P)
  std::vector<double> value;                    ///< from universe_distribution()
  std::vector<double> error;                    ///< its deviation
  bool of_universes;  ///< error is that of whole universes; else of single sub-volumes, as cuts differ
  std::optional<std::uint64_t> seed = {};  ///< if known
  std::vector<double> truth = {};          ///< if known; else empty
  std::vector<double> network = {};        ///< what the networks predict, where `value` is a posterior's mean
  std::vector<double> covariance = {};     ///< (P, P) of the posterior; else empty
  LabelDensity density = {};               ///< refers to the models' posteriors
  std::optional<nn::Farness> farness = {};  ///< as Distribution has it
};

struct ListPredictions {
  std::vector<UniversePrediction> universes;  ///< in the list's order
  std::vector<std::string>
      warnings;  ///< a sentence on each thing that makes them doubtful, with the universes' names
};

/// A sentence on the universes of a list that models have learned from; `seeds` (universes) of those whose seed is known.
std::vector<std::string> recognise(Models models, const UniverseList& list,
                                   std::span<const std::optional<std::uint64_t>> seeds);

/// Predicts all universes of a list, which the ranks share, holding one at a time: for the same samples the same bits
/// as a split's predictions, whatever else is in the list and whatever the number of ranks. Every rank gets all.
/// Collective. Throws, on all ranks, what opening, reading or predicting the first universe that fails throws.
ListPredictions predict_list(const core::Invocation& run, Models models,
                             const std::vector<std::string>& directories, const UniverseList& list);

}  // namespace cosmo::infer
