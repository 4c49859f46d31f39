// Compiled for x86-64-v3 (AVX2); elsewhere for the machine itself.
#include "train/nn/kernel/filter_kernels.hpp"
#include "train/nn/kernel/filtered_sets.hpp"

namespace cosmo::nn {

FilterKernels filter_kernels_v3() { return make_filter_kernels<8>("cosmo:filtered-v3"); }

}  // namespace cosmo::nn
