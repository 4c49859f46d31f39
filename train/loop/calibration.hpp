#pragma once
// How predicted densities must be mapped to be true.

#include <span>
#include <vector>

#include "dataset/measure/prediction_table.hpp"
#include "train/nn/posterior/mixture.hpp"

namespace cosmo::train {

/// The map, lower triangular and given row by row (P (P + 1) / 2), by which each row's mixture is drawn out,
/// or in, and sheared about its mean (nn::mapped): the most probable one given the truths, labels (rows).
/// Each row counts `weight`, the part that it is of a universe: those of one universe are correlated. The
/// prior is standard normal in the logarithms of the map's diagonal, which weighs as much as half a universe,
/// and in what its inverse has below the diagonal.
std::vector<double> calibrate(std::span<const nn::Mixture> mixtures, std::span<const nn::Vector> truths,
                              double weight);

/// A network's predictions for a split's samples and for its universes, calibrated on the truths of that
/// split.
struct CalibratedSplit {
  dataset::PredictionTable subvolumes;
  dataset::PredictionTable universes;  ///< of each the average of its sub-volumes' (nn::average)
  std::vector<double> calibration_per_subvolume;
  std::vector<double> calibration_per_universe;
};

/// `table`: of the split's samples, with their truths; `outputs` of the network (samples, outputs).
CalibratedSplit calibrate_split(dataset::PredictionTable table, std::span<const float> outputs);

}  // namespace cosmo::train
