#pragma once

#include <string>

#include "train/nn/precision.hpp"

namespace cosmo::train {

/// The ceiling that training is measured against.
struct Peak {
  double rate;       ///< [flop/s]
  std::string unit;  ///< what reaches it
};

/// What `threads` cores reach in this precision: f32 with fused multiply-adds, bf16 with the best that the
/// CPU has for it.
Peak measure_peak(int threads, nn::Precision precision);

}  // namespace cosmo::train
