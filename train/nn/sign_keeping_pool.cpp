#include <algorithm>
#include <array>
#include <cstdint>

#include "train/nn/layers.hpp"

// The 2018 network's first layer makes 128 MB of activations, of which backward needs only the signs: a pool
// that keeps those spares the memory and one pass over it.

namespace cosmo::nn {

namespace {

using Tag = dnnl::memory::format_tag;

/// A tensor (N, C/block, D, H, W, block), the layouts nCdhw16c and nCdhw8c, and its pooled image.
struct Geometry {
  std::int64_t images;  ///< N × C / block
  std::int64_t side;    ///< cells along each side
  std::int64_t pooled;  ///< cells along each side of the pooled tensor
  std::int64_t window;  ///< cells along each side of the windows, which do not overlap

  /// The row of cells at (z, y) of an image, in cells; the pooled row of its window likewise.
  std::int64_t row(std::int64_t image, std::int64_t z, std::int64_t y) const {
    return ((image * side + z) * side + y) * side;
  }
  std::int64_t pooled_row(std::int64_t image, std::int64_t z, std::int64_t y) const {
    return ((image * pooled + z / window) * pooled + y / window) * pooled;
  }
  float scale() const { return 1.0f / static_cast<float>(window * window * window); }
};

/// Channels in a block, or 0 for other layouts.
int block_of(const dnnl::memory::desc& layout) {
  const auto is = [&](Tag tag) {
    return layout.dims().size() == 5 && layout == dnnl::memory::desc(layout.dims(), layout.data_type(), tag);
  };
  return is(Tag::nCdhw16c) ? 16 : is(Tag::nCdhw8c) ? 8 : 0;
}

/// pooled = averages of values; positive[i] = values[i] > 0 in all complete windows.
template <int block>
void pool_forward(float* pooled, std::uint8_t* positive, const float* values, const Geometry& g) {
  const float scale = g.scale();
  const std::int64_t covered = g.pooled * g.window;
#pragma omp parallel for collapse(2) schedule(static)
  for (std::int64_t image = 0; image < g.images; ++image) {
    for (std::int64_t slab = 0; slab < g.pooled; ++slab) {
      std::fill_n(pooled + g.pooled_row(image, slab * g.window, 0) * block, g.pooled * g.pooled * block,
                  0.0f);
      for (std::int64_t i = 0; i < g.window * covered; ++i) {
        const std::int64_t z = slab * g.window + i / covered, y = i % covered;
        const float* value = values + g.row(image, z, y) * block;
        std::uint8_t* sign = positive + g.row(image, z, y) * block;
#pragma omp simd
        for (std::int64_t k = 0; k < covered * block; ++k) sign[k] = value[k] > 0;
        float* sum = pooled + g.pooled_row(image, z, y) * block;
        for (std::int64_t x = 0; x < g.pooled; ++x, sum += block) {
          std::array<float, block> row_sum = {};
          for (std::int64_t dx = 0; dx < g.window; ++dx, value += block) {
            for (int c = 0; c < block; ++c) row_sum[static_cast<std::size_t>(c)] += value[c];
          }
          for (int c = 0; c < block; ++c) sum[c] += scale * row_sum[static_cast<std::size_t>(c)];
        }
      }
    }
  }
}

/// d_values = d_pooled / window³, × slope where not positive; zero outside complete windows.
template <int block>
void pool_backward(float* d_values, const float* d_pooled, const std::uint8_t* positive, float slope,
                   const Geometry& g) {
  const float scale = g.scale();
  const std::int64_t covered = g.pooled * g.window;
#pragma omp parallel for collapse(2) schedule(static)
  for (std::int64_t image = 0; image < g.images; ++image) {
    for (std::int64_t z = 0; z < g.side; ++z) {
      for (std::int64_t y = 0; y < g.side; ++y) {
        float* const row = d_values + g.row(image, z, y) * block;
        const std::int64_t size = z < covered && y < covered ? covered * block : 0;
        std::fill(row + size, row + g.side * block, 0.0f);
        if (size == 0) continue;
        float* d_value = row;
        const float* d_sum = d_pooled + g.pooled_row(image, z, y) * block;
        for (std::int64_t x = 0; x < g.pooled; ++x, d_sum += block) {
          for (std::int64_t dx = 0; dx < g.window; ++dx, d_value += block) {
            for (int c = 0; c < block; ++c) d_value[c] = scale * d_sum[c];
          }
        }
        const std::uint8_t* sign = positive + g.row(image, z, y) * block;
#pragma omp simd
        for (std::int64_t k = 0; k < size; ++k) row[k] = sign[k] != 0 ? row[k] : slope * row[k];
      }
    }
  }
}

template <int block>
void append_kernels(CompiledLayer& compiled, const Tensor& source, const Tensor& output,
                    const dnnl::memory& signs, const Geometry& geometry) {
  compiled.forward.push_back({Work::other, "signs kept", [=](const Pass&) {
                                pool_forward<block>(data<float>(output.values), data<std::uint8_t>(signs),
                                                    data<float>(source.values), geometry);
                              }});
  compiled.input_gradient.push_back(
      {Work::other, "signs kept", [=, slope = static_cast<float>(source.slope)](const Pass&) {
         pool_backward<block>(data<float>(source.gradient), data<float>(output.gradient),
                              data<std::uint8_t>(signs), slope, geometry);
       }});
}

}  // namespace

bool can_keep_signs(const Layer& reader, const dnnl::memory::desc& layout, double slope) {
  const auto* pool = std::get_if<AveragePool>(&reader.kind);
  return pool != nullptr && pool->size == pool->stride && slope != 1 && block_of(layout) != 0;
}

Tensor build_sign_keeping_pool(Workshop& shop, CompiledLayer& compiled, const AveragePool& layer,
                               const Tensor& source, const dnnl::memory::desc& layout) {
  const Tensor output = shop.next_tensor(layout, 1, false);
  const dnnl::memory::desc like_source = source.values.get_desc();
  const auto values = static_cast<std::int64_t>(like_source.get_size() / sizeof(float));
  const dnnl::memory signs =
      shop.memory.place(shop.memory.slot(), {{values}, dnnl::memory::data_type::u8, Tag::a}, shop.engine);
  const std::int64_t side = like_source.dims()[2];
  const int block = block_of(like_source);
  const Geometry geometry = {values / (side * side * side * block), side, layout.dims()[2], layer.size};
  (block == 16 ? append_kernels<16> : append_kernels<8>)(compiled, source, output, signs, geometry);
  return output;
}

}  // namespace cosmo::nn
