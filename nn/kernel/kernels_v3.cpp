// Compiled for x86-64-v3 (AVX2); elsewhere for the machine itself.
#include "nn/kernel/filter_kernels.hpp"
#include "nn/kernel/first_layer_kernels.hpp"
#include "nn/kernel/kernel_set.hpp"

namespace cosmo::nn {

KernelSet kernels_v3() {
  return {8, make_filter_kernels<8>("cosmo:filtered-v3"), make_first_layer_kernels<8>("cosmo:first-v3")};
}

}  // namespace cosmo::nn
