// Compiled for x86-64-v4 (AVX-512); elsewhere for the machine itself.
#include "nn/kernel/filter_kernels.hpp"
#include "nn/kernel/first_layer_kernels.hpp"
#include "nn/kernel/kernel_set.hpp"

namespace cosmo::nn {

KernelSet kernels_v4() {
  return {16, make_filter_kernels<16>("cosmo:filtered-v4"), make_first_layer_kernels<16>("cosmo:first-v4")};
}

}  // namespace cosmo::nn
