#pragma once

#include "nn/precision.hpp"

namespace cosmo::train {

/// [flop/s] The rate that `threads` cores reach with independent products of bf16 pairs or tiles in
/// registers, summed in f32, best of several short runs; 0 without bf16 units.
double measure_bf16_peak(int threads, nn::Bf16Units units);

}  // namespace cosmo::train
