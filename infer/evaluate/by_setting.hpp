#pragma once
// How a model does on universes of each setting that a split has: whether its answers hold on other simulators.

#include <span>
#include <string>
#include <vector>

#include "core/universe/facts.hpp"
#include "dataset/load/split_reader.hpp"
#include "infer/evaluate/uncertainty.hpp"

namespace cosmo::infer {

/// A model's figures on universes of one setting.
struct SettingFigures {
  core::Facts setting;    ///< what these universes have in common; empty for all of a split without settings
  std::size_t universes;  ///< their number
  std::vector<Estimate> bias;  ///< (P) mean (p − x) over the rms error of the model's validation universes
  std::vector<Estimate> scaled_error;  ///< (P) rms error / standard deviation of the training labels
  std::vector<Coverage> coverage;      ///< (P) of the predicted distributions; empty without
};

/// One entry for each combination of settings, in their order; of more than kMostCombinations, or fewer than four universes
/// for each, one for each value of each
/// setting by itself, and of more values than that one for each third of the universes.
inline constexpr std::size_t kMostCombinations = 12;
std::vector<SettingFigures> evaluate_by_setting(const NetworkPrediction& network,
                                                const dataset::SplitReader& reader);

/// [{"setting", "universes", NAME: {"bias_deviations", "scaled_error", "within_1_sigma", "within_2_sigma", each with
/// "_se"}}]
core::Json to_json(const core::ParameterSpace& parameters, const std::vector<SettingFigures>& settings);

/// A line for each setting; empty for a single universe.
std::string text_of(const core::ParameterSpace& parameters, const std::vector<SettingFigures>& settings);

/// "mesh cell 4 Mpc/h, steps 5"; "all universes" without settings.
std::string title_of(const core::Facts& setting);

}  // namespace cosmo::infer
