#include "nn/kernel/kernel_set.hpp"

namespace cosmo::nn {

namespace {

/// From where on filtered kernels are faster than direct ones.
struct FilterLimits {
  int block;           ///< floats in a vector
  double saving;       ///< products of a direct convolution for each of a filtered one
  std::int64_t tiles;  ///< tiles of all images, since weights are transformed once for all of them
};

/// Measured by bench/convolution_limits.py on Zen 3 and on Zen 5, where direct kernels waste less.
constexpr FilterLimits kLimits[] = {{8, 2, 48}, {16, 3, 48}};

}  // namespace

bool is_worthwhile(const FilteredConvolution& layer, Phase phase) {
  const FilterLimits& limits = kLimits[kernels().block == 8 ? 0 : 1];
  const std::int64_t k = layer.kernel;
  const FilteredConvolution made = phase == Phase::input_gradient ? layer.transposed() : layer;
  const std::int64_t tiles = made.deep_tiles() * made.tiles() * made.tiles();
  const auto direct = static_cast<double>(layer.output_cells() * k * k * k);
  return layer.images * tiles >= limits.tiles &&
         direct >= limits.saving * static_cast<double>(tiles * kTileProducts);
}

}  // namespace cosmo::nn
