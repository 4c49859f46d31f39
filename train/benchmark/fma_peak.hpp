#pragma once

namespace cosmo::train {

/// [flop/s] What `threads` cores reach with independent fused multiply-adds in registers, f32, best of
/// several short runs: the ceiling that training is measured against.
double measure_fma_peak(int threads);

}  // namespace cosmo::train
