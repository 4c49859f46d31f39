#include <algorithm>
#include <array>
#include <cstdint>

#include "nn/layer/layers.hpp"

// The 2018 network's first layer makes 128 MB of activations, of which backward needs only the signs: a pool
// that keeps only these saves the memory and one pass over it.

namespace cosmo::nn {

namespace {

using Tag = dnnl::memory::format_tag;

/// A tensor (N, C/block, D, H, W, block), the layouts nCdhw16c, nCdhw8c and, all channels in one block,
/// ndhwc, and its pooled image.
struct PoolGeometry {
  std::int64_t images;       ///< N × C / block
  std::int64_t depth, side;  ///< cells along D, and along H and W
  std::int64_t window;       ///< cells along each side of the windows, which do not overlap
  std::int64_t pooled_depth = depth / window, pooled = side / window;  ///< cells of the pooled tensor

  /// The row of cells at (z, y) of an image, in cells; the pooled row of its window likewise.
  std::int64_t row(std::int64_t image, std::int64_t z, std::int64_t y) const {
    return ((image * depth + z) * side + y) * side;
  }
  std::int64_t pooled_row(std::int64_t image, std::int64_t z, std::int64_t y) const {
    return ((image * pooled_depth + z / window) * pooled + y / window) * pooled;
  }
  float scale() const { return 1.0f / static_cast<float>(window * window * window); }
};

/// Number of channels in a block, or 0 for layouts that these kernels do not support.
int block_of(const dnnl::memory::desc& layout) {
  const auto [tag, channels] = channel_block(layout);
  const bool whole = channels == 16 || channels == 32 || channels == 64;
  return whole || tag == Tag::nCdhw8c ? static_cast<int>(channels) : 0;
}

/// Adds a row of values to the sums of their windows' averages; sign[i] = value[i] > 0.
template <int block, class Value>
void add_row(float* sums, std::uint8_t* sign, const Value* value, const PoolGeometry& g) {
#pragma omp simd
  for (std::int64_t k = 0; k < g.pooled * g.window * block; ++k) sign[k] = static_cast<float>(value[k]) > 0;
  const float scale = g.scale();
  for (std::int64_t x = 0; x < g.pooled; ++x, sums += block) {
    std::array<float, block> row_sum = {};
    for (std::int64_t dx = 0; dx < g.window; ++dx, value += block) {
      for (int c = 0; c < block; ++c) row_sum[static_cast<std::size_t>(c)] += static_cast<float>(value[c]);
    }
    for (int c = 0; c < block; ++c) sums[c] += scale * row_sum[static_cast<std::size_t>(c)];
  }
}

/// pooled = averages of values; positive[i] = values[i] > 0 in all complete windows. `scratch`: a row of
/// `pooled` for each slab of windows.
template <int block, class Value, class Pooled>
void pool_forward(Pooled* pooled, std::uint8_t* positive, const Value* values, float* scratch,
                  const PoolGeometry& g) {
  const std::int64_t size = g.pooled * block;
#pragma omp parallel for collapse(2) schedule(static)
  for (std::int64_t image = 0; image < g.images; ++image) {
    for (std::int64_t slab = 0; slab < g.pooled_depth; ++slab) {
      float* const sums = scratch + (image * g.pooled_depth + slab) * size;
      for (std::int64_t line = 0; line < g.pooled; ++line) {
        std::fill_n(sums, size, 0.0f);
        for (std::int64_t i = 0; i < g.window * g.window; ++i) {
          const std::int64_t z = slab * g.window + i / g.window, y = line * g.window + i % g.window;
          add_row<block>(sums, positive + g.row(image, z, y) * block, values + g.row(image, z, y) * block, g);
        }
        Pooled* const row = pooled + g.pooled_row(image, slab * g.window, line * g.window) * block;
        for (std::int64_t k = 0; k < size; ++k) row[k] = Pooled(sums[k]);
      }
    }
  }
}

/// A row of d_values = d_pooled / window³, × slope where not positive.
template <int block, class Value, class Pooled>
void spread_row(Value* d_value, const Pooled* d_sum, const std::uint8_t* sign, float slope,
                const PoolGeometry& g) {
  const float scale = g.scale();
  for (std::int64_t x = 0; x < g.pooled; ++x, d_sum += block) {
    std::array<Value, block> above, below;
    for (int c = 0; c < block; ++c) {
      const float share = scale * static_cast<float>(d_sum[c]);
      above[static_cast<std::size_t>(c)] = Value(share);
      below[static_cast<std::size_t>(c)] = Value(slope * share);
    }
    for (std::int64_t dx = 0; dx < g.window; ++dx, d_value += block, sign += block) {
      for (int c = 0; c < block; ++c) {
        const auto channel = static_cast<std::size_t>(c);
        d_value[c] = sign[c] != 0 ? above[channel] : below[channel];
      }
    }
  }
}

/// d_values = d_pooled / window³, × slope where not positive; zero outside complete windows.
template <int block, class Value, class Pooled>
void pool_backward(Value* d_values, const Pooled* d_pooled, const std::uint8_t* positive, float slope,
                   const PoolGeometry& g) {
  const std::int64_t covered = g.pooled * g.window, covered_depth = g.pooled_depth * g.window;
#pragma omp parallel for collapse(2) schedule(static)
  for (std::int64_t image = 0; image < g.images; ++image) {
    for (std::int64_t z = 0; z < g.depth; ++z) {
      for (std::int64_t y = 0; y < g.side; ++y) {
        Value* const row = d_values + g.row(image, z, y) * block;
        const bool inside = z < covered_depth && y < covered;
        std::fill(row + (inside ? covered * block : 0), row + g.side * block, Value());
        if (inside)
          spread_row<block>(row, d_pooled + g.pooled_row(image, z, y) * block,
                            positive + g.row(image, z, y) * block, slope, g);
      }
    }
  }
}

template <int block, class Value, class Pooled>
void append_kernels(CompiledLayer& compiled, const Tensor& source, const Tensor& output,
                    const dnnl::memory& signs, const dnnl::memory& scratch, const PoolGeometry& geometry) {
  compiled.forward.push_back({OperationKind::other, "signs kept", [=](const Pass&) {
                                pool_forward<block>(data<Pooled>(output.values), data<std::uint8_t>(signs),
                                                    data<Value>(source.values), data<float>(scratch),
                                                    geometry);
                              }});
  compiled.input_gradient.push_back(
      {OperationKind::other, "signs kept", [=, slope = static_cast<float>(source.slope)](const Pass&) {
         pool_backward<block>(data<Value>(source.gradient), data<Pooled>(output.gradient),
                              data<std::uint8_t>(signs), slope, geometry);
       }});
}

template <class Value, class Pooled>
auto kernels_of(int block) {
  return block == 8    ? &append_kernels<8, Value, Pooled>
         : block == 16 ? &append_kernels<16, Value, Pooled>
         : block == 32 ? &append_kernels<32, Value, Pooled>
                       : &append_kernels<64, Value, Pooled>;
}

}  // namespace

bool can_keep_signs(const Layer& reader, const dnnl::memory::desc& layout, double slope) {
  const auto* pool = std::get_if<AveragePool>(&reader.kind);
  return pool != nullptr && pool->size == pool->stride && slope != 1 && block_of(layout) != 0;
}

Tensor build_sign_keeping_pool(NetworkBuilder& builder, CompiledLayer& compiled, const AveragePool& layer,
                               const Tensor& source, const dnnl::memory::desc& layout) {
  using core::Bfloat16;
  const bool from_bf16 = is_bf16(source.values), to_bf16 = builder.precision == Precision::bf16;
  using enum dnnl::memory::data_type;
  const Tensor output = builder.next_tensor(with_type(layout, to_bf16 ? bf16 : f32), 1, false);
  const dnnl::memory::desc like_source = source.values.get_desc();
  const auto values = static_cast<std::int64_t>(with_type(like_source, u8).get_size());
  const dnnl::memory signs =
      builder.memory.place(builder.memory.slot(), {{values}, u8, Tag::a}, builder.engine);
  const std::int64_t depth = dims_of(like_source)[2], side = dims_of(like_source)[3];
  const int block = block_of(like_source);
  const PoolGeometry geometry = {values / (depth * side * side * block), depth, side, layer.size};
  const auto append = from_bf16 ? kernels_of<Bfloat16, Bfloat16>(block)
                      : to_bf16 ? kernels_of<float, Bfloat16>(block)
                                : kernels_of<float, float>(block);
  const dnnl::memory scratch =
      builder.temporary(plain_layout({geometry.images * geometry.pooled_depth * geometry.pooled * block}));
  append(compiled, source, output, signs, scratch, geometry);
  return output;
}

}  // namespace cosmo::nn
