#pragma once

#include "core/universe/universe.hpp"
#include "dataset/load/split_reader.hpp"
#include "nn/model/model_manifest.hpp"

namespace cosmo::train {

/// How the labels of the training samples are spread, and those of the validation samples about their mean; `parameters` are
/// what the labels mean.
nn::LabelSpread measure_label_spread(const dataset::SplitReader& training,
                                     const dataset::SplitReader& validation,
                                     const core::ParameterSpace& parameters);

}  // namespace cosmo::train
