#pragma once
// Private to train/nn: the kernels of filtered convolutions, each compiled for its own instruction set.

#include "train/nn/kernel/filtered_convolution.hpp"

namespace cosmo::nn {

FilterKernels filter_kernels_v3();
FilterKernels filter_kernels_v4();

}  // namespace cosmo::nn
