#include "nn/build/periodic_padding.hpp"

#include <algorithm>
#include <cstring>

#include "nn/build/gradients.hpp"
#include "nn/kernel/axis.hpp"
#include "nn/tensor/walked_layout.hpp"

namespace cosmo::nn {

namespace {

/// Tensors (images, depth, side, side, block), and the same with more cells on their faces.
struct PaddingGeometry {
  std::int64_t images, block;
  Axis depth, side;

  PaddingGeometry(const WalkedLayout& walked, const Padding& padding)
      : images(walked.images()),
        block(walked.block.channels),
        depth{walked.depth(), padding.depth},
        side{walked.side(), padding.side} {}

  static std::int64_t padded(const Axis& axis) { return axis.cells + 2 * axis.padding; }
  /// The cell that a padded coordinate maps to.
  static std::int64_t shown(const Axis& axis, std::int64_t x) {
    return (x - axis.padding + axis.cells) % axis.cells;
  }
  /// The first padded coordinate that maps to a cell.
  static std::int64_t first_shown(const Axis& axis, std::int64_t x) {
    return (x + axis.padding) % axis.cells;
  }
  std::int64_t row(std::int64_t image, std::int64_t z, std::int64_t y) const {
    return ((image * depth.cells + z) * side.cells + y) * side.cells * block;
  }
  std::int64_t padded_row(std::int64_t image, std::int64_t z, std::int64_t y) const {
    return ((image * padded(depth) + z) * padded(side) + y) * padded(side) * block;
  }
};

template <class T>
void wrap(const PaddingGeometry& g, const T* values, T* padded) {
#pragma omp parallel for collapse(2) schedule(static)
  for (std::int64_t image = 0; image < g.images; ++image) {
    for (std::int64_t z = 0; z < g.padded(g.depth); ++z) {
      for (std::int64_t y = 0; y < g.padded(g.side); ++y) {
        const T* const from = values + g.row(image, g.shown(g.depth, z), g.shown(g.side, y));
        T* const to = padded + g.padded_row(image, z, y);
        const auto edge = static_cast<std::size_t>(g.side.padding * g.block);
        const auto whole = static_cast<std::size_t>(g.side.cells * g.block);
        std::memcpy(to, from + whole - edge, edge * sizeof(T));
        std::memcpy(to + edge, from, whole * sizeof(T));
        std::memcpy(to + edge + whole, from, edge * sizeof(T));
      }
    }
  }
}

/// Adds a row of the padded gradient to sums; its edges belong to the cells at the opposite ends.
template <class T>
void add_row(const PaddingGeometry& g, const T* row, float* sums) {
  const auto add = [](float* to, const T* from, std::int64_t count) {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) to[i] += static_cast<float>(from[i]);
  };
  const std::int64_t edge = g.side.padding * g.block, whole = g.side.cells * g.block;
  add(sums + whole - edge, row, edge);
  add(sums, row + edge, whole);
  add(sums, row + edge + whole, edge);
}

/// The gradient of a cell is the sum over all padded cells that map to it, in the order of coordinates.
/// `scratch`: (images, depth, side, block).
template <class T>
void fold(const PaddingGeometry& g, const T* d_padded, T* d_values, float* scratch) {
  const std::int64_t length = g.side.cells * g.block;
#pragma omp parallel for collapse(2) schedule(static)
  for (std::int64_t image = 0; image < g.images; ++image) {
    for (std::int64_t z = 0; z < g.depth.cells; ++z) {
      float* const sums = scratch + (image * g.depth.cells + z) * length;
      for (std::int64_t y = 0; y < g.side.cells; ++y) {
        std::fill_n(sums, length, 0.0f);
        for (std::int64_t pz = g.first_shown(g.depth, z); pz < g.padded(g.depth); pz += g.depth.cells) {
          for (std::int64_t py = g.first_shown(g.side, y); py < g.padded(g.side); py += g.side.cells)
            add_row(g, d_padded + g.padded_row(image, pz, py), sums);
        }
        T* const to = d_values + g.row(image, z, y);
        for (std::int64_t i = 0; i < length; ++i) to[i] = T(sums[i]);
      }
    }
  }
}

}  // namespace

Tensor append_periodic_padding(NetworkBuilder& builder, std::vector<Operation>& operations,
                               const Tensor& source, const Padding& padding) {
  const WalkedLayout walked(source.values.get_desc());
  const dnnl::memory values = builder.reordered(operations, source.values, walked.layout(), true);
  const dnnl::memory::desc larger =
      walked.layout(walked.depth() + 2 * padding.depth, walked.side() + 2 * padding.side);
  Tensor padded = source.lane < 0 ? builder.tensors.copied_input(larger) : builder.tensors.inner(larger);
  const PaddingGeometry g(walked, padding);
  operations.push_back({OperationKind::other, "periodic padding", [=, to = padded.values](const Pass&) {
                          if (is_bf16(to))
                            wrap(g, data<core::Bfloat16>(values), data<core::Bfloat16>(to));
                          else
                            wrap(g, data<float>(values), data<float>(to));
                        }});
  return padded;
}

void append_periodic_folding(NetworkBuilder& builder, std::vector<Operation>& operations,
                             const Tensor& padded, const Tensor& source, const Padding& padding) {
  const WalkedLayout walked(source.gradient.get_desc());
  const bool in_place = walked.layout() == source.gradient.get_desc();
  const dnnl::memory d_values = in_place ? source.gradient : builder.tensors.temporary(walked.layout());
  const PaddingGeometry g(walked, padding);
  const dnnl::memory scratch =
      builder.memory.keep(plain_layout({g.images * g.depth.cells * g.side.cells * g.block}));
  operations.push_back({OperationKind::other, "periodic padding", [=, from = padded.gradient](const Pass&) {
                          if (is_bf16(from))
                            fold(g, data<core::Bfloat16>(from), data<core::Bfloat16>(d_values),
                                 data<float>(scratch));
                          else
                            fold(g, data<float>(from), data<float>(d_values), data<float>(scratch));
                        }});
  if (!in_place) builder.append_reorder(operations, d_values, source.gradient);
  append_leaky_relu_backward(builder, operations, source);
}

}  // namespace cosmo::nn
