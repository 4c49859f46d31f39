#pragma once

namespace cosmo::train {

/// [flop/s] The best rate in several short runs that `threads` cores reach with independent f32 fused
/// multiply-adds in registers: the ceiling against which training is measured.
double measure_fma_peak(int threads);

}  // namespace cosmo::train
