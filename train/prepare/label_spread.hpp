#pragma once

#include "core/universe/universe.hpp"
#include "dataset/load/split_reader.hpp"
#include "nn/model/model_manifest.hpp"

namespace cosmo::train {

/// The mean and the standard deviation of the labels of a split's samples; `parameters` are what the labels mean.
nn::LabelSpread measure_label_spread(const dataset::SplitReader& training,
                                     const core::ParameterSpace& parameters);

}  // namespace cosmo::train
