#pragma once
// Our own kernels, of which the CPU chooses at run time.

#include "nn/kernel/filtered_convolution.hpp"
#include "nn/kernel/first_layer.hpp"

namespace cosmo::nn {

/// Kernels for one instruction set.
struct KernelSet {
  int block;  ///< floats in a vector, and channels side by side in tensors
  FilterKernels filter;
  FirstLayerKernels first_layer;
};

KernelSet kernels_v3();
KernelSet kernels_v4();

/// The kernels for this CPU and the instruction sets that the environment's ONEDNN_MAX_CPU_ISA permits.
const KernelSet& kernels();

}  // namespace cosmo::nn
