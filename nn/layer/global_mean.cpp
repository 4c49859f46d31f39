#include <algorithm>

#include "nn/build/gradients.hpp"
#include "nn/build/slabs.hpp"
#include "nn/layer/layers.hpp"

namespace cosmo::nn {

namespace {

/// Number of parts in which the cells of an image are summed, for any number of threads.
constexpr std::int64_t kParts = 16;

/// A tensor (N, channels / block, cells, block).
struct MeanGeometry {
  std::int64_t samples, channels, blocks, cells, block;
  std::int64_t all;  ///< cells of all ranks' slabs together
  bool squares;

  std::int64_t images() const { return samples * blocks; }
  std::int64_t outputs() const { return (squares ? 2 : 1) * channels; }
  /// First channel of an image, and its number of channels; the rest of its block is padding.
  std::int64_t first(std::int64_t image) const { return image % blocks * block; }
  std::int64_t count(std::int64_t image) const { return std::min(block, channels - first(image)); }
  /// First cell of a part.
  std::int64_t cell(std::int64_t part) const { return cells * part / kParts; }
};

/// Adds the cells' values to sums (block) and, if requested, their squares to squares (block).
template <class T>
void add_cells(const T* values, std::int64_t cells, const MeanGeometry& g, float* sums, float* squares) {
  if (g.block == 1) {
    float sum = 0, square = 0;
#pragma omp simd reduction(+ : sum, square)
    for (std::int64_t i = 0; i < cells; ++i) {
      const auto value = static_cast<float>(values[i]);
      sum += value;
      square += value * value;
    }
    *sums += sum;
    *squares += square;
    return;
  }
  for (std::int64_t i = 0; i < cells; ++i, values += g.block) {
#pragma omp simd
    for (std::int64_t c = 0; c < g.block; ++c) {
      const auto value = static_cast<float>(values[c]);
      sums[c] += value;
      squares[c] += value * value;
    }
  }
}

/// Each part of each image has its sums in (2, block) floats of `parts`.
template <class T>
void forward(const MeanGeometry& g, const T* values, float* parts, float* means) {
#pragma omp parallel for collapse(2) schedule(static)
  for (std::int64_t image = 0; image < g.images(); ++image) {
    for (std::int64_t part = 0; part < kParts; ++part) {
      float* const sums = parts + (image * kParts + part) * 2 * g.block;
      std::fill_n(sums, 2 * g.block, 0.0f);
      const std::int64_t first = g.cell(part);
      add_cells(values + (image * g.cells + first) * g.block, g.cell(part + 1) - first, g, sums,
                sums + g.block);
    }
  }
  for (std::int64_t image = 0; image < g.images(); ++image) {
    float* const row = means + image / g.blocks * g.outputs() + g.first(image);
    for (std::int64_t c = 0; c < g.count(image); ++c) {
      double sum = 0, square = 0;
      for (std::int64_t part = 0; part < kParts; ++part) {
        const float* const sums = parts + (image * kParts + part) * 2 * g.block;
        sum += static_cast<double>(sums[c]);
        square += static_cast<double>(sums[g.block + c]);
      }
      const auto cells = static_cast<double>(g.all);
      row[c] = static_cast<float>(sum / cells);
      if (g.squares) row[g.channels + c] = static_cast<float>(square / cells);
    }
  }
}

/// The gradients of a block's means and squares, per cell.
struct Shares {
  const float* of_mean;
  const float* of_square;
};

/// Computes a part of d_values, or adds to it.
template <bool adds, class T>
void backward_part(const MeanGeometry& g, const Shares& shares, const T* values, std::int64_t cells,
                   T* d_values) {
  for (std::int64_t cell = 0; cell < cells; ++cell, values += g.block, d_values += g.block) {
#pragma omp simd
    for (std::int64_t c = 0; c < g.block; ++c) {
      float sum = shares.of_mean[c];
      if (g.squares) sum += shares.of_square[c] * static_cast<float>(values[c]);
      d_values[c] = T(adds ? static_cast<float>(d_values[c]) + sum : sum);
    }
  }
}

/// d_values (adds: +) = (d_means + 2 × value × d_squares) / cells. `parts` as in forward().
template <bool adds, class T>
void backward(const MeanGeometry& g, const T* values, const float* d_means, float* parts, T* d_values) {
  const float share = 1 / static_cast<float>(g.all);
#pragma omp parallel for collapse(2) schedule(static)
  for (std::int64_t image = 0; image < g.images(); ++image) {
    for (std::int64_t part = 0; part < kParts; ++part) {
      const float* const row = d_means + image / g.blocks * g.outputs() + g.first(image);
      float* const of_mean = parts + (image * kParts + part) * 2 * g.block;
      float* const of_square = of_mean + g.block;
      std::fill_n(of_mean, 2 * g.block, 0.0f);
      for (std::int64_t c = 0; c < g.count(image); ++c) {
        of_mean[c] = share * row[c];
        of_square[c] = g.squares ? 2 * share * row[g.channels + c] : 0;
      }
      const std::int64_t first = g.cell(part), at = (image * g.cells + first) * g.block;
      backward_part<adds>(g, {of_mean, of_square}, values + at, g.cell(part + 1) - first, d_values + at);
    }
  }
}

template <class T>
void append_passes(NetworkBuilder& builder, CompiledLayer& compiled, const MeanGeometry& g,
                   const dnnl::memory& values, const dnnl::memory& d_values, bool adds,
                   const Tensor& output) {
  const dnnl::memory parts = builder.tensors.temporary(plain_layout({g.images() * kParts * 2 * g.block}));
  compiled.forward.push_back({OperationKind::other, "global mean", [=, means = output.values](const Pass&) {
                                forward(g, data<T>(values), data<float>(parts), data<float>(means));
                              }});
  if (!d_values) return;
  compiled.input_gradient.push_back(
      {OperationKind::other, "global mean", [=, d_means = output.gradient](const Pass&) {
         (adds ? backward<true, T> : backward<false, T>)(g, data<T>(values), data<float>(d_means),
                                                         data<float>(parts), data<T>(d_values));
       }});
}

}  // namespace

bool can_add_gradient(const Layer& layer, const dnnl::memory::desc& source) {
  return std::holds_alternative<GlobalMean>(layer.kind) && channel_block(source).channels > 0;
}

Tensor build(NetworkBuilder& builder, CompiledLayer& compiled, const GlobalMean& layer, const Tensor& source,
             const Layer*) {
  const dnnl::memory::desc given = source.values.get_desc();
  const dnnl::memory::dims dims = dims_of(given);  // (N, C, D, H, W) or (N, C)
  const std::int64_t given_block = channel_block(given).channels;
  const bool known = given_block > 0;
  const dnnl::memory::desc layout = known ? given : plain_layout(dims, type_of(given));
  const dnnl::memory values = builder.reordered(compiled.forward, source.values, layout, false);
  const std::int64_t block = known ? given_block : 1;
  std::int64_t cells = 1;
  for (std::size_t axis = 2; axis < dims.size(); ++axis) cells *= dims[axis];
  const bool slab = builder.reads_slab();
  const std::int64_t all = slab ? dims[3] * dims[3] * dims[3] : cells;
  const MeanGeometry geometry{dims[0], dims[1],      (dims[1] + block - 1) / block, cells, block,
                              all,     layer.squares};
  const Tensor output = builder.tensors.output(plain_layout({dims[0], geometry.outputs()}), 1);
  const dnnl::memory d_values = !source.gradient ? dnnl::memory()
                                : known          ? source.gradient
                                                 : builder.tensors.gradient_part(layout);
  (is_bf16(values) ? append_passes<core::Bfloat16> : append_passes<float>)(builder, compiled, geometry,
                                                                           values, d_values, source.adds,
                                                                           output);
  if (slab) append_sum_over_slabs(builder, compiled.forward, output.values);
  if (!source.gradient || source.adds) return output;
  if (!known) builder.append_reorder(compiled.input_gradient, d_values, source.gradient);
  append_leaky_relu_backward(builder, compiled.input_gradient, source);
  return output;
}

}  // namespace cosmo::nn
