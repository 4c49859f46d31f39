// Compiled for x86-64-v4 (AVX-512).
#include "train/nn/kernel/filter_kernels.hpp"
#include "train/nn/kernel/filtered_sets.hpp"

namespace cosmo::nn {

FilterKernels filter_kernels_v4() { return make_filter_kernels<16>("cosmo:filtered-v4"); }

}  // namespace cosmo::nn
