#pragma once
// What predicted deviations must be multiplied by to be true.

#include <span>
#include <vector>

#include "dataset/prediction_table.hpp"
#include "train/nn/mixture.hpp"

namespace cosmo::train {

/// Factors for the deviations of each parameter (P), by which each row's mixture is drawn out about its mean
/// (nn::scaled): the most probable ones given the truths, labels (rows). Each
/// row counts `weight`, the part that it is of a universe: those of one universe are correlated. The prior of
/// each factor's logarithm is normal with mean 0 and deviation 1, which weighs as much as half a universe.
std::vector<double> calibrate(std::span<const nn::Mixture> mixtures, std::span<const nn::Vector> truths,
                              double weight);

/// A network's predictions for a split's samples and for its universes, calibrated on the truths of that
/// split.
struct CalibratedSplit {
  dataset::PredictionTable subvolumes;
  dataset::PredictionTable universes;  ///< of each the average of its sub-volumes' (nn::average)
  std::vector<double> scale_per_subvolume;
  std::vector<double> scale_per_universe;
};

/// `table`: of the split's samples, with their truths; `outputs` of the network (samples, outputs).
CalibratedSplit calibrate_split(dataset::PredictionTable table, std::span<const float> outputs);

}  // namespace cosmo::train
