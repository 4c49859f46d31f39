#include "nn/kernel/kernel_set.hpp"

#include "nn/precision.hpp"

namespace cosmo::nn {

namespace {

/// Whether the kernels with AVX-512 can run and fit the layouts that oneDNN chooses.
bool has_v4() {
#ifdef __x86_64__
  return __builtin_cpu_supports("x86-64-v4") != 0 && uses_avx512();
#else
  return false;
#endif
}

}  // namespace

const KernelSet& kernels() {
  static const KernelSet set = has_v4() ? kernels_v4() : kernels_v3();
  return set;
}

}  // namespace cosmo::nn
