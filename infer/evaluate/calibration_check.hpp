#pragma once
// Whether predicted distributions are calibrated: each parameter's alone, and all of them together.

#include <span>
#include <string>
#include <vector>

#include "dataset/measure/prediction_table.hpp"
#include "infer/evaluate/uniform_band.hpp"
#include "infer/predict/distribution.hpp"

namespace cosmo::infer {

/// The probability that the counts of right distributions are all within the bands.
inline constexpr double kHolds = 0.95;

/// A check of N universes, whose distributions are right if the counts lie within the bands: each band holds its counts
/// with a probability of kHolds^(1 / (2P + 1)), so that all of them do with kHolds.
struct CalibrationCheck {
  /// Simulation-based calibration (Talts et al. 2018, arXiv:1804.06788): for each parameter (P), the
  /// number of truths in each bin of predicted cumulative probability. Exact, without draws.
  std::vector<std::vector<int>> ranks;
  Band rank_band;
  /// For each parameter (P), the number of truths in each of kIntervals of predicted cumulative probability: more
  /// sensitive to widths than the bins.
  std::vector<std::vector<int>> within;
  Band interval_band;
  /// TARP (Lemos et al. 2023, arXiv:2302.03026): how many truths have a credibility below each edge. The
  /// credibility is the predicted probability of being closer to a reference point than the truth is, in
  /// label units; the point is drawn uniformly from the ranges, anew for each universe.
  std::vector<int> covered;
  Band cover_band;

  /// Whether all counts are within their bands.
  bool holds() const;
};

/// Checks universes, one row each, and the distribution of each; `below` holds the predicted cumulative
/// probabilities of the truths (rows, P). Draws follow from the universes' numbers: they are the same for any
/// number of ranks and threads and any order of rows.
CalibrationCheck check_calibration(const dataset::PredictionTable& universes,
                                   const std::vector<Distribution>& distributions,
                                   std::span<const nn::Vector> below);

/// Puts "calibrated", "sbc", "intervals" and "tarp" into "uncertainty" of metrics.json.
void add_check(core::Json& uncertainty, const core::ParameterSpace& parameters,
               const CalibrationCheck& check);

/// The verdicts in one line.
std::string text_of(const core::ParameterSpace& parameters, const CalibrationCheck& check);

}  // namespace cosmo::infer
