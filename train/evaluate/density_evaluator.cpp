#include "train/evaluate/density_evaluator.hpp"

#include <utility>

#include "train/evaluate/calibration.hpp"

namespace cosmo::train {

DensityEvaluator::DensityEvaluator(const nn::Output& output, const nn::Density& density,
                                   const dataset::SplitToPredict& split)
    : VectorEvaluator(output, split, false), density_(density) {}

std::vector<float> DensityEvaluator::improved(std::vector<float> outputs, std::span<const float>,
                                              std::span<Column>) {
  return outputs;
}

VectorEvaluator::Predictions DensityEvaluator::predict(std::span<const float> outputs,
                                                       std::span<Column> columns) {
  CalibratedSplit calibrated = calibrate_split(dataset::truths_of(split()), density_, outputs);
  set_values(columns, "calibration_per_subvolume", std::move(calibrated.calibration_per_subvolume));
  set_values(columns, "calibration_per_universe", std::move(calibrated.calibration_per_universe));
  return {std::move(calibrated.subvolumes), std::move(calibrated.universes)};
}

}  // namespace cosmo::train
