#pragma once
// The layout in which our own kernels walk the cells of a tensor.

#include <algorithm>

#include "nn/tensor/layouts.hpp"

namespace cosmo::nn {

/// A layout of tensors (N, C, depth, side, side) as images (depth, side, side, block): the given one if its
/// channels are arranged in that way, otherwise the plain one.
struct WalkedLayout {
  ChannelBlock block;
  dnnl::memory::dims dims;
  dnnl::memory::data_type type;

  explicit WalkedLayout(const dnnl::memory::desc& given)
      : block(channel_block(given)), dims(dims_of(given)), type(type_of(given)) {
    if (block.channels == 0) block = {dnnl::memory::format_tag::ncdhw, 1};
  }

  std::int64_t depth() const { return dims[2]; }
  std::int64_t side() const { return dims[3]; }
  /// Number of channel blocks per sample.
  std::int64_t blocks() const { return (dims[1] + block.channels - 1) / block.channels; }
  std::int64_t images() const { return dims[0] * blocks(); }
  /// First channel of an image, and its number of channels; the rest of its block is padding.
  std::int64_t first_channel(std::int64_t image) const { return image % blocks() * block.channels; }
  std::int64_t channels(std::int64_t image) const {
    return std::min(block.channels, dims[1] - first_channel(image));
  }
  /// This layout of tensors of this size, and of another.
  dnnl::memory::desc layout() const { return layout(depth(), side()); }
  dnnl::memory::desc layout(std::int64_t depth, std::int64_t side) const {
    return {{dims[0], dims[1], depth, side, side}, type, block.tag};
  }
};

}  // namespace cosmo::nn
