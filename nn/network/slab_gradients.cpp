#include "nn/network/slab_gradients.hpp"

#include <algorithm>

namespace cosmo::nn {

SlabGradients::SlabGradients(const std::optional<Share>& share, bool apart, ParameterArena& arena,
                             const std::vector<CompiledLayer>& layers)
    : share_(share),
      arena_(arena),
      layers_(layers),
      slabs_(apart && share ? share->plan.slabs() : 1),
      starts_(1) {
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    const bool cut = slabs_ > 1 && share->plan.is_cut(static_cast<int>(layer));
    starts_.push_back(starts_.back() + (cut ? static_cast<std::size_t>(slabs_ - 1) * size(layer) : 0));
  }
}

std::size_t SlabGradients::size(std::size_t layer) const {
  const std::vector<std::size_t>& parameters = layers_[layer].parameters;
  return parameters.empty() ? 0 : arena_.stretch(parameters.front(), parameters.back());
}

std::span<float> SlabGradients::of_layer(std::size_t layer) const {
  const Parameter& first = arena_.parameters()[layers_[layer].parameters.front()];
  return arena_.gradients().subspan(first.offset, size(layer));
}

std::span<float> SlabGradients::of_slab(std::size_t layer, int slab) const {
  if (slab == 0 || !is_apart(layer)) return of_layer(layer);
  return arena_.extra().subspan(starts_[layer] + static_cast<std::size_t>(slab - 1) * size(layer),
                                size(layer));
}

void SlabGradients::attach(std::span<const CompiledLayer> layers, int slab,
                           ParameterArena& parameters) const {
  const auto offset = [](const ParameterArena& arena, std::size_t index) {
    return arena.parameters()[index].offset;
  };
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    for (const std::size_t index : layers[layer].parameters) {
      const std::size_t behind =
          offset(parameters, index) - offset(parameters, layers[layer].parameters.front());
      parameters.point_at_gradient(index, of_slab(layer, slab).data() + behind);
    }
  }
}

void SlabGradients::leave_to_others(std::size_t layer) const {
  if (!share_) return;
  const bool counts = share_->rank == 0 || share_->plan.is_cut(static_cast<int>(layer));
  if (!counts) std::ranges::fill(of_layer(layer), -0.0f);
  if (!is_apart(layer)) return;
  for (int slab = 0; slab < slabs_; ++slab) {
    if (!share_->plan.slabs_of(share_->rank).contains(slab)) std::ranges::fill(of_slab(layer, slab), -0.0f);
  }
}

void SlabGradients::sum() const {
  for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
    if (!is_apart(layer)) continue;
    for (int apart = 1; apart < slabs_; apart *= 2) {
      for (int slab = 0; slab < slabs_; slab += 2 * apart) {
        const std::span<float> sum = of_slab(layer, slab), other = of_slab(layer, slab + apart);
#pragma omp parallel for simd schedule(static)
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += other[i];
      }
    }
  }
}

}  // namespace cosmo::nn
