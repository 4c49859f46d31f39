#pragma once
// Predictions without a network: the least that one has to beat.

#include "dataset/regression/learned_baselines.hpp"
#include "infer/evaluate/method.hpp"

namespace cosmo::infer {

/// The rows of `table` predicted by the centre of each parameter's range, whatever the universe.
dataset::PredictionTable predict_centre(dataset::PredictionTable table);

/// What regressions have learned, and what they are to predict.
struct Baselines {
  const core::ParameterSpace& space;         ///< the ranges that they have learned
  const dataset::LearnedBaselines& learned;  ///< that obstacle_to() has no objection to
  const dataset::StatisticsTable& split;     ///< statistics of the split to predict, in its order
  const dataset::PredictionTable& network;   ///< the rows of `split`; only their predictions are not used
};

/// Regressions of the parameters on summary statistics, two ways each. power_spectrum and summary_statistics
/// predict every sub-volume from its own statistics, and a universe by the mean over its sub-volumes, as the
/// network does. universe_power_spectrum and universe_summary_statistics predict a universe from the mean of
/// its sub-volumes' statistics, which hold more on it, and predict no sub-volumes: their `subvolumes` is
/// empty. Predictions beyond a range are set to its edge. Their deviation is the rms error of universes of
/// the training split, each predicted by a regression that has not seen it. The parameters are those of
/// `space`.
Methods regression_baselines(const Baselines& given);

}  // namespace cosmo::infer
