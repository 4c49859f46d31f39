#pragma once
// The map that calibrates predicted densities.

#include <span>
#include <vector>

#include "dataset/measure/prediction_table.hpp"
#include "nn/output/density.hpp"
#include "nn/posterior/mixture.hpp"

namespace cosmo::train {

/// Returns the map, a lower triangle given row by row (P (P + 1) / 2), that stretches or shrinks each row's
/// mixture and shears it about its mean (nn::mapped): the most probable map given the truths, labels (rows).
/// Each row has weight `weight`, its share of a universe, because the rows of one universe are correlated.
/// The prior is standard normal in the logarithms of the map's diagonal, where it weighs as much as half a
/// universe, and in the elements of its inverse below the diagonal.
std::vector<double> calibrate(std::span<const nn::Mixture> mixtures, std::span<const nn::Vector> truths,
                              double weight);

/// A network's predictions for the samples and the universes of a split, calibrated on the truths of that
/// split.
struct CalibratedSplit {
  dataset::PredictionTable subvolumes;
  dataset::PredictionTable universes;  ///< each the average of its sub-volumes' (nn::average)
  std::vector<double> calibration_per_subvolume;
  std::vector<double> calibration_per_universe;
};

/// Calibrates a split. `table` lists its samples with their truths; `outputs` (samples, values) describe a `density` of
/// each.
CalibratedSplit calibrate_split(dataset::PredictionTable table, const nn::Density& density,
                                std::span<const float> outputs);

}  // namespace cosmo::train
