#include "train/nn/kernel/filtered_convolution.hpp"

#include "train/nn/kernel/filtered_sets.hpp"

namespace cosmo::nn {

bool is_worthwhile(const FilteredConvolution& layer) {
  constexpr std::int64_t kFewestTiles = 20;
  const std::int64_t tiles = layer.tiles();
  return (layer.kernel == 3 || layer.kernel == 4) && layer.padding < layer.kernel &&
         tiles * tiles * tiles >= kFewestTiles;
}

const FilterKernels& filter_kernels() {
#ifdef __x86_64__
  static const FilterKernels kernels =
      __builtin_cpu_supports("x86-64-v4") ? filter_kernels_v4() : filter_kernels_v3();
#else
  static const FilterKernels kernels = filter_kernels_v3();
#endif
  return kernels;
}

}  // namespace cosmo::nn
