// Finer cells. Along an axis each new cell is a weighted sum of one or two old ones; backward, each old cell
// is a weighted sum of the new ones that read it. Both passes apply a table of weights, one the transpose of
// the other.

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "nn/build/gradients.hpp"
#include "nn/layer/layers.hpp"
#include "nn/tensor/walked_layout.hpp"

namespace cosmo::nn {

namespace {

/// The weight with which a cell of the result reads a cell of the source, along one axis.
struct Tap {
  std::int64_t cell;
  float weight;
};

/// The taps of each cell of the result.
using Taps = std::vector<std::vector<Tap>>;

/// The taps of the new cells `made`, among the old cells `seen` of an axis that had `side` of these: all, or a slab's. The
/// centre of new cell i factor + r is (r + 1/2) / factor - 1/2 old cells from the centre of old cell i.
Taps finer(std::int64_t side, const Resample& layer, const core::Slab& made, const core::Slab& seen) {
  const bool wraps = layer.interpolation == Interpolation::periodic && seen.size() == side && seen.first == 0;
  Taps taps;
  for (std::int64_t cell = made.first; cell < made.last; ++cell) {
    const std::int64_t part = core::wrapped(static_cast<int>(cell), layer.factor),
                       own = (cell - part) / layer.factor;
    const std::int64_t twice = 2 * part + 1 - layer.factor;  // 2 factor × that distance
    taps.push_back({{own - seen.first, 1}});
    if (layer.interpolation == Interpolation::nearest || twice == 0) continue;
    std::int64_t other = own + (twice > 0 ? 1 : -1);
    if (wraps)
      other = (other + side) % side;
    else if (layer.interpolation == Interpolation::linear)
      other = std::clamp<std::int64_t>(other, 0, side - 1);
    const float share = static_cast<float>(std::abs(twice)) / static_cast<float>(2 * layer.factor);
    taps.back() = {{own - seen.first, 1 - share}, {other - seen.first, share}};
  }
  return taps;
}

Taps transpose(const Taps& taps, std::int64_t side) {
  Taps transposed(static_cast<std::size_t>(side));
  for (std::size_t result = 0; result < taps.size(); ++result) {
    for (const Tap& tap : taps[result])
      transposed[static_cast<std::size_t>(tap.cell)].push_back(
          {static_cast<std::int64_t>(result), tap.weight});
  }
  return transposed;
}

/// Maps images (from_depth, from_side², block) to others, (planes, taps², block). Each sum is in the order of its terms, for
/// any number of threads.
struct Resampling {
  std::int64_t images, from_depth, from_side, block;
  Taps planes, taps;

  std::int64_t depth() const { return static_cast<std::int64_t>(planes.size()); }
  std::int64_t side() const { return static_cast<std::int64_t>(taps.size()); }
  std::int64_t row() const { return from_side * block; }
  const std::vector<Tap>& of(std::int64_t cell) const { return taps[static_cast<std::size_t>(cell)]; }
};

/// sums (from_side, block) = the weighted sum of the rows of an image that row (z, y) of the result reads.
template <class T>
void sum_rows(const Resampling& r, const T* image, std::int64_t z, std::int64_t y, float* sums) {
  std::fill_n(sums, r.row(), 0.0f);
  for (const Tap& tz : r.planes[static_cast<std::size_t>(z)]) {
    for (const Tap& ty : r.of(y)) {
      const T* const row = image + (tz.cell * r.from_side + ty.cell) * r.row();
      const float weight = tz.weight * ty.weight;
#pragma omp simd
      for (std::int64_t i = 0; i < r.row(); ++i) sums[i] += weight * static_cast<float>(row[i]);
    }
  }
}

/// Channels that lie side by side.
template <int kWidth>
struct Channels {
  using Vector [[gnu::vector_size(kWidth * sizeof(float))]] = float;
};

/// Sets the channels of a cell (block) to the weighted sum of those of a row's cells.
template <int kWidth>
void sum_cells(const std::vector<Tap>& taps, const float* row, std::int64_t block, float* to) {
  for (std::int64_t c = 0; c < block; c += kWidth) {
    typename Channels<kWidth>::Vector sums = {}, values;
    for (const Tap& tap : taps) {
      std::memcpy(&values, row + tap.cell * block + c, sizeof values);
      sums += tap.weight * values;
    }
    std::memcpy(to + c, &sums, sizeof sums);
  }
}

/// Computes all images. `scratch`: (images, depth, from_side + side, block).
template <int kWidth, class T>
void resample(const Resampling& r, const T* from, T* to, float* scratch) {
  const std::int64_t length = r.side() * r.block;
#pragma omp parallel for collapse(2) schedule(static)
  for (std::int64_t image = 0; image < r.images; ++image) {
    for (std::int64_t z = 0; z < r.depth(); ++z) {
      float* const sums = scratch + (image * r.depth() + z) * (r.row() + length);
      float* const finished = sums + r.row();
      T* row = to + (image * r.depth() + z) * r.side() * length;
      for (std::int64_t y = 0; y < r.side(); ++y, row += length) {
        sum_rows(r, from + image * r.from_depth * r.from_side * r.row(), z, y, sums);
        for (std::int64_t x = 0; x < r.side(); ++x)
          sum_cells<kWidth>(r.of(x), sums, r.block, finished + x * r.block);
#pragma omp simd
        for (std::int64_t i = 0; i < length; ++i) row[i] = T(finished[i]);
      }
    }
  }
}

template <class T>
void resample(const Resampling& r, const dnnl::memory& from, const dnnl::memory& to,
              const dnnl::memory& scratch) {
  const auto by_width = r.block % 16 == 0  ? resample<16, T>
                        : r.block % 8 == 0 ? resample<8, T>
                                           : resample<1, T>;
  by_width(r, data<T>(from), data<T>(to), data<float>(scratch));
}

void append(std::vector<Operation>& operations, Resampling resampling, const dnnl::memory& from,
            const dnnl::memory& to, const dnnl::memory& scratch) {
  const auto kernel = is_bf16(from) ? resample<core::Bfloat16> : resample<float>;
  operations.push_back({OperationKind::other, "resample",
                        [=, r = std::move(resampling)](const Pass&) { kernel(r, from, to, scratch); }});
}

}  // namespace

Tensor build(NetworkBuilder& builder, CompiledLayer& compiled, const Resample& layer, const Tensor& source,
             const Layer*) {
  const WalkedLayout walked(source.values.get_desc());
  const auto side = static_cast<int>(walked.side()), larger = side * layer.factor;
  const auto slab = builder.slab();
  const core::Slab all = {0, side}, all_made = {0, larger};
  const Taps taps = finer(side, layer, all_made, all);
  const Taps planes = slab ? finer(side, layer, slab->made, slab->seen) : taps;
  const auto depth = static_cast<std::int64_t>(planes.size());
  const dnnl::memory values = builder.reordered(compiled.forward, source.values, walked.layout(), true);
  const Tensor output = builder.tensors.output(walked.layout(depth, larger), 1);
  const std::int64_t images = walked.images(), block = walked.block.channels;
  const dnnl::memory scratch =
      builder.memory.keep(plain_layout({images * std::max(depth, walked.depth()) * (side + larger) * block}));
  append(compiled.forward, {images, walked.depth(), side, block, planes, taps}, values, output.values,
         scratch);
  if (!source.gradient) return output;
  const bool in_place = walked.layout() == source.gradient.get_desc();
  const dnnl::memory d_values = in_place ? source.gradient : builder.tensors.temporary(walked.layout());
  append(compiled.input_gradient,
         {images, depth, larger, block, transpose(planes, walked.depth()), transpose(taps, side)},
         output.gradient, d_values, scratch);
  if (!in_place) builder.append_reorder(compiled.input_gradient, d_values, source.gradient);
  append_leaky_relu_backward(builder, compiled.input_gradient, source);
  return output;
}

}  // namespace cosmo::nn
