#include <algorithm>
#include <cstring>
#include <vector>

#include "train/nn/layers.hpp"

namespace cosmo::nn {

namespace {

using Layout = dnnl::memory::desc;
using Tag = dnnl::memory::format_tag;

/// Tensors (images, side, side, side, block), and the same with `padding` more cells on every face.
struct Geometry {
  std::int64_t images, side, padding, block;

  std::int64_t padded() const { return side + 2 * padding; }
  /// The cell that a padded coordinate shows.
  std::int64_t shown(std::int64_t x) const { return (x - padding + side) % side; }
  std::int64_t row(std::int64_t image, std::int64_t z, std::int64_t y) const {
    return ((image * side + z) * side + y) * side * block;
  }
  std::int64_t padded_row(std::int64_t image, std::int64_t z, std::int64_t y) const {
    return ((image * padded() + z) * padded() + y) * padded() * block;
  }
};

template <class T>
void wrap(const Geometry& g, const T* values, T* padded) {
#pragma omp parallel for collapse(2) schedule(static)
  for (std::int64_t image = 0; image < g.images; ++image) {
    for (std::int64_t z = 0; z < g.padded(); ++z) {
      for (std::int64_t y = 0; y < g.padded(); ++y) {
        const T* const from = values + g.row(image, g.shown(z), g.shown(y));
        T* const to = padded + g.padded_row(image, z, y);
        const auto edge = static_cast<std::size_t>(g.padding * g.block);
        const auto whole = static_cast<std::size_t>(g.side * g.block);
        std::memcpy(to, from + whole - edge, edge * sizeof(T));
        std::memcpy(to + edge, from, whole * sizeof(T));
        std::memcpy(to + edge + whole, from, edge * sizeof(T));
      }
    }
  }
}

/// sums += a row of the padded gradient, whose edges belong to the cells of the opposite ends.
template <class T>
void add_row(const Geometry& g, const T* row, float* sums) {
  const auto add = [](float* to, const T* from, std::int64_t count) {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) to[i] += static_cast<float>(from[i]);
  };
  const std::int64_t edge = g.padding * g.block, whole = g.side * g.block;
  add(sums + whole - edge, row, edge);
  add(sums, row + edge, whole);
  add(sums, row + edge + whole, edge);
}

/// The gradient of a cell is the sum over all that show it, in the order of their coordinates.
template <class T>
void fold(const Geometry& g, const T* d_padded, T* d_values) {
#pragma omp parallel
  {
    std::vector<float> sums(static_cast<std::size_t>(g.side * g.block));
#pragma omp for collapse(2) schedule(static)
    for (std::int64_t image = 0; image < g.images; ++image) {
      for (std::int64_t z = 0; z < g.side; ++z) {
        for (std::int64_t y = 0; y < g.side; ++y) {
          std::fill(sums.begin(), sums.end(), 0.0f);
          for (std::int64_t pz = (z + g.padding) % g.side; pz < g.padded(); pz += g.side) {
            for (std::int64_t py = (y + g.padding) % g.side; py < g.padded(); py += g.side)
              add_row(g, d_padded + g.padded_row(image, pz, py), sums.data());
          }
          T* const to = d_values + g.row(image, z, y);
          for (std::size_t i = 0; i < sums.size(); ++i) to[i] = T(sums[i]);
        }
      }
    }
  }
}

/// The layout that the kernels walk, with some cells a side: the given one, or the plain one.
struct Walked {
  ChannelBlock block;
  dnnl::memory::dims dims;
  dnnl::memory::data_type type;

  explicit Walked(const Layout& given)
      : block(channel_block(given)), dims(given.dims()), type(given.data_type()) {
    if (block.channels == 0) block = {Tag::ncdhw, 1};
  }
  Layout layout(int padding = 0) const {
    dnnl::memory::dims larger = dims;
    for (const std::size_t axis : {2, 3, 4}) larger[axis] += 2 * padding;
    return {larger, type, block.tag};
  }
  Geometry geometry(int padding) const {
    return {dims[0] * ((dims[1] + block.channels - 1) / block.channels), dims[2], padding, block.channels};
  }
};

}  // namespace

Tensor append_periodic_padding(Workshop& shop, std::vector<Operation>& operations, const Tensor& source,
                               int padding) {
  const Walked walked(source.values.get_desc());
  const dnnl::memory values = shop.reordered(operations, source.values, walked.layout(), true);
  const Layout larger = walked.layout(padding);
  Tensor padded = source.lane < 0 ? shop.input_tensor(larger) : shop.inner_tensor(larger);
  const Geometry g = walked.geometry(padding);
  operations.push_back({Work::other, "periodic padding", [=, to = padded.values](const Pass&) {
                          if (is_bf16(to))
                            wrap(g, data<core::Bfloat16>(values), data<core::Bfloat16>(to));
                          else
                            wrap(g, data<float>(values), data<float>(to));
                        }});
  return padded;
}

void append_periodic_folding(Workshop& shop, std::vector<Operation>& operations, const Tensor& padded,
                             const Tensor& source, int padding) {
  const Walked walked(source.gradient.get_desc());
  const bool in_place = walked.layout() == source.gradient.get_desc();
  const dnnl::memory d_values = in_place ? source.gradient : shop.temporary(walked.layout());
  const Geometry g = walked.geometry(padding);
  operations.push_back({Work::other, "periodic padding", [=, from = padded.gradient](const Pass&) {
                          if (is_bf16(from))
                            fold(g, data<core::Bfloat16>(from), data<core::Bfloat16>(d_values));
                          else
                            fold(g, data<float>(from), data<float>(d_values));
                        }});
  if (!in_place) shop.append_reorder(operations, d_values, source.gradient);
  append_leaky_relu_backward(shop, operations, source);
}

}  // namespace cosmo::nn
