#pragma once

#include <utility>

#include "nn/filtered_phases.hpp"
#include "nn/precision.hpp"

namespace cosmo::nn {

/// How a network computes: in f32, by each product of the definition, unless another way is given.
struct Arithmetic {
  Arithmetic(Precision precision_ = Precision::f32, FilteredPhases filtered_ = {})
      : precision(precision_), filtered(std::move(filtered_)) {}

  Precision precision;
  FilteredPhases
      filtered;  ///< phases to filter; if not all of a layer's, then where oneDNN's layouts permit it
  /// Whether the network computes the same bits with any number of threads, so that oneDNN's convolutions and dense layers
  /// run on one.
  bool reproducible = false;
};

}  // namespace cosmo::nn
