#pragma once

#include <string>

#include "nn/precision.hpp"

namespace cosmo::train {

/// The ceiling against which training is measured.
struct Peak {
  double rate;       ///< [flop/s]
  std::string unit;  ///< instructions that reach it
};

/// Measures the rate that `threads` cores reach in this precision: f32 with fused multiply-adds, bf16 with
/// the CPU's best units for it.
Peak measure_peak(int threads, nn::Precision precision);

}  // namespace cosmo::train
