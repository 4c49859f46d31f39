#include "nn/tensor/layouts.hpp"

#include "core/error.hpp"

namespace cosmo::nn {

using Tag = dnnl::memory::format_tag;

dnnl::memory::desc plain_layout(const dnnl::memory::dims& dims, dnnl::memory::data_type type) {
  dnnl::memory::dims strides(dims.size(), 1);
  for (std::size_t axis = dims.size() - 1; axis > 0; --axis) strides[axis - 1] = strides[axis] * dims[axis];
  return {dims, type, strides};
}

dnnl::memory::desc free_layout(const dnnl::memory::dims& dims, dnnl::memory::data_type type) {
  return {dims, type, Tag::any};
}

ChannelBlock channel_block(const dnnl::memory::desc& layout) {
  const dnnl::memory::dims dims = dims_of(layout);
  if (dims.size() != 5) return {Tag::undef, 0};
  for (const ChannelBlock& block : {ChannelBlock{Tag::ncdhw, 1}, ChannelBlock{Tag::nCdhw16c, 16},
                                    ChannelBlock{Tag::nCdhw8c, 8}, ChannelBlock{Tag::ndhwc, dims[1]}}) {
    if (layout == dnnl::memory::desc(dims, type_of(layout), block.tag)) return block;
  }
  return {Tag::undef, 0};
}

dnnl::memory::desc with_type(const dnnl::memory::desc& layout, dnnl::memory::data_type type) {
  if (type_of(layout) == type) return layout;
  const ChannelBlock block = channel_block(layout);
  core::ensure(block.channels > 0, core::Fault::internal, "A layout has no channel block to keep.");
  return {dims_of(layout), type, block.tag};
}

bool same_bytes(const dnnl::memory::desc& a, const dnnl::memory::desc& b) {
  if (a == b) return true;
  const dnnl::memory::dims dims = dims_of(a);
  if (dims.size() != 5 || dims != dims_of(b) || type_of(a) != type_of(b)) return false;
  const auto one_block = [&](const dnnl::memory::desc& layout) {  // or no blocks, but the channels last
    const auto is = [&](Tag tag) { return layout == dnnl::memory::desc(dims, type_of(layout), tag); };
    return is(Tag::ndhwc) || (dims[1] == 16 && is(Tag::nCdhw16c)) || (dims[1] == 8 && is(Tag::nCdhw8c));
  };
  return one_block(a) && one_block(b);
}

}  // namespace cosmo::nn
