#include "nn/layer/average_pool.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace cosmo::nn {

namespace {

using Tag = dnnl::memory::format_tag;

// oneDNN sums a window's cells in another order: with it trainings would have other last bits.

/// A tensor (N, C / block, D, H, W, block), its averages over windows side by side, and the leaky ReLU that made it.
struct Averages {
  std::int64_t images;       ///< N × C / block
  std::int64_t depth, side;  ///< cells along D, and along H and W
  std::int64_t window;       ///< cells along each side
  float slope;
  std::int64_t pooled_depth = depth / window, pooled = side / window;  ///< cells of the averages

  /// The row of cells at (z, y) of an image, in cells; the row of averages of its windows likewise.
  std::int64_t row(std::int64_t image, std::int64_t z, std::int64_t y) const {
    return ((image * depth + z) * side + y) * side;
  }
  std::int64_t pooled_row(std::int64_t image, std::int64_t z, std::int64_t y) const {
    return ((image * pooled_depth + z / window) * pooled + y / window) * pooled;
  }
  float scale() const { return 1.0f / static_cast<float>(window * window * window); }
};

/// a × b + c, rounded once where the instructions that this is compiled for can do that: compilers would choose in each
/// loop anew.
float multiply_add(float a, float b, float c) {
#ifdef __FMA__
  return std::fma(a, b, c);
#else
  return a * b + c;
#endif
}

/// Sums the cells of each row of a window, and then the rows.
template <int block, class Value, class Pooled>
void average(const Averages& g, const Value* values, Pooled* averages) {
  const float scale = g.scale();
#pragma omp parallel for collapse(2) schedule(static)
  for (std::int64_t image = 0; image < g.images; ++image) {
    for (std::int64_t plane = 0; plane < g.pooled_depth; ++plane) {
      const std::int64_t z = plane * g.window;
      Pooled* to = averages + g.pooled_row(image, z, 0) * block;
      for (std::int64_t window = 0; window < g.pooled * g.pooled; ++window, to += block) {
        const std::int64_t y = window / g.pooled * g.window, x = window % g.pooled * g.window;
        std::array<float, block> sums = {};
        for (std::int64_t row = 0; row < g.window * g.window; ++row) {
          const Value* from = values + (g.row(image, z + row / g.window, y + row % g.window) + x) * block;
          std::array<float, block> of_row = {};
          for (std::int64_t cell = 0; cell < g.window; ++cell, from += block)
            for (std::size_t c = 0; c < block; ++c) of_row[c] += static_cast<float>(from[c]);
          for (std::size_t c = 0; c < block; ++c) sums[c] = multiply_add(scale, of_row[c], sums[c]);
        }
        for (std::size_t c = 0; c < block; ++c) to[c] = Pooled(sums[c]);
      }
    }
  }
}

/// A row of gradients before the leaky ReLU, from those of its windows' averages.
template <int block, class Value, class Pooled>
void spread_row(const Averages& g, const Value* value, const Pooled* d_average, Value* d_value) {
  const float scale = g.scale();
  for (std::int64_t x = 0; x < g.pooled; ++x, d_average += block) {
    std::array<Value, block> above, below;
    for (std::size_t c = 0; c < block; ++c) {
      const float share = scale * static_cast<float>(d_average[c]);
      above[c] = Value(share);
      below[c] = Value(g.slope * share);
    }
    for (std::int64_t cell = 0; cell < g.window; ++cell, value += block, d_value += block) {
      for (std::size_t c = 0; c < block; ++c)
        d_value[c] = static_cast<float>(value[c]) > 0 ? above[c] : below[c];
    }
  }
}

/// The same for all rows; zeros outside of complete windows.
template <int block, class Value, class Pooled>
void spread(const Averages& g, const Value* values, const Pooled* d_averages, Value* d_values) {
  const std::int64_t covered = g.pooled * g.window, covered_depth = g.pooled_depth * g.window;
#pragma omp parallel for collapse(2) schedule(static)
  for (std::int64_t image = 0; image < g.images; ++image) {
    for (std::int64_t z = 0; z < g.depth; ++z) {
      for (std::int64_t y = 0; y < g.side; ++y) {
        const std::int64_t at = g.row(image, z, y) * block;
        const bool inside = z < covered_depth && y < covered;
        std::fill(d_values + at + (inside ? covered * block : 0), d_values + at + g.side * block, Value());
        if (inside)
          spread_row<block>(g, values + at, d_averages + g.pooled_row(image, z, y) * block, d_values + at);
      }
    }
  }
}

template <int block, class Value, class Pooled>
void append_passes(CompiledLayer& compiled, const Averages& g, const Tensor& source, const Tensor& output) {
  compiled.forward.push_back({OperationKind::other, "averages", [=](const Pass&) {
                                average<block>(g, data<Value>(source.values), data<Pooled>(output.values));
                              }});
  compiled.input_gradient.push_back({OperationKind::other, "averages", [=](const Pass&) {
                                       spread<block>(g, data<Value>(source.values),
                                                     data<Pooled>(output.gradient),
                                                     data<Value>(source.gradient));
                                     }});
}

template <class Value, class Pooled>
auto passes_of(std::int64_t block) {
  return block == 8    ? &append_passes<8, Value, Pooled>
         : block == 16 ? &append_passes<16, Value, Pooled>
         : block == 32 ? &append_passes<32, Value, Pooled>
                       : &append_passes<64, Value, Pooled>;
}

}  // namespace

bool averages_in_blocks(const NetworkBuilder& builder, const AveragePool& layer, const Tensor& source) {
  const auto [tag, channels] = channel_block(source.values.get_desc());
  const bool whole = channels == 16 || channels == 32 || channels == 64 || tag == Tag::nCdhw8c;
  return builder.mode == Mode::training && layer.size == layer.stride && source.slope != 1 && whole;
}

Tensor build_average_in_blocks(NetworkBuilder& builder, CompiledLayer& compiled, const AveragePool& layer,
                               const Tensor& source, const dnnl::memory::desc& layout) {
  using core::Bfloat16;
  const dnnl::memory::desc like_source = source.values.get_desc();
  const dnnl::memory::dims dims = dims_of(like_source);
  const std::int64_t block = channel_block(like_source).channels;
  const Averages averages = {dims[0] * ((dims[1] + block - 1) / block), dims[2], dims[3], layer.size,
                             static_cast<float>(source.slope)};
  const bool from_bf16 = is_bf16(source.values), to_bf16 = builder.arithmetic.precision == Precision::bf16;
  using enum dnnl::memory::data_type;
  const Tensor output = builder.tensors.output(with_type(layout, to_bf16 ? bf16 : f32), 1);
  const auto append = from_bf16 ? passes_of<Bfloat16, Bfloat16>(block)
                      : to_bf16 ? passes_of<float, Bfloat16>(block)
                                : passes_of<float, float>(block);
  append(compiled, averages, source, output);
  return output;
}

}  // namespace cosmo::nn
