#pragma once
// oneDNN, and all that differs between its versions 2 and 3.

#include <oneapi/dnnl/dnnl.hpp>
#include <vector>

namespace cosmo::nn {

inline dnnl::memory::dims dims_of(const dnnl::memory::desc& layout) {
#if DNNL_VERSION_MAJOR >= 3
  return layout.get_dims();
#else
  return layout.dims();
#endif
}

inline dnnl::memory::data_type type_of(const dnnl::memory::desc& layout) {
#if DNNL_VERSION_MAJOR >= 3
  return layout.get_data_type();
#else
  return layout.data_type();
#endif
}

/// How an engine computes a forward primitive of these arguments.
template <class Primitive, class... Arguments>
typename Primitive::primitive_desc describe_forward(const dnnl::engine& engine,
                                                    const dnnl::primitive_attr& attributes,
                                                    const Arguments&... arguments) {
#if DNNL_VERSION_MAJOR >= 3
  return {engine, arguments..., attributes};
#else
  return {typename Primitive::desc(arguments...), attributes, engine};
#endif
}

/// How it computes a backward one; empty if it cannot.
template <class Primitive, class Forward, class... Arguments>
typename Primitive::primitive_desc describe_backward(const dnnl::engine& engine,
                                                     const dnnl::primitive_attr& attributes,
                                                     const Forward& forward, const Arguments&... arguments) {
#if DNNL_VERSION_MAJOR >= 3
  return {engine, arguments..., forward, attributes, true};
#else
  return {typename Primitive::desc(arguments...), attributes, engine, forward, true};
#endif
}

/// Where the values of a layout are: an index is split by the inner blocks, from the last one; what is left of it
/// counts the strides.
struct Blocking {
  dnnl::memory::dims strides, blocks;
  std::vector<int> axes;      ///< the axis that each block splits
  dnnl::memory::dim first;    ///< place of the first value
  dnnl::memory::dims padded;  ///< sizes with padding

  explicit Blocking(const dnnl::memory::desc& layout) {
#if DNNL_VERSION_MAJOR >= 3
    strides = layout.get_strides();
    blocks = layout.get_inner_blks();
    for (const auto axis : layout.get_inner_idxs()) axes.push_back(static_cast<int>(axis));
    first = layout.get_submemory_offset();
    padded = layout.get_padded_dims();
#else
    const auto& given = layout.data.format_desc.blocking;
    strides.assign(given.strides, given.strides + layout.data.ndims);
    blocks.assign(given.inner_blks, given.inner_blks + given.inner_nblks);
    axes.assign(given.inner_idxs, given.inner_idxs + given.inner_nblks);
    first = layout.data.offset0;
    padded.assign(layout.data.padded_dims, layout.data.padded_dims + layout.data.ndims);
#endif
  }
};

/// Whether oneDNN's copies lose values of layouts with padding or gaps, as those of 3.7 do (its issue 3280); on ARM 2.6
/// loses the sign of zero there.
#ifdef __aarch64__
constexpr bool kCopiesLoseValues = true;
#else
constexpr bool kCopiesLoseValues = DNNL_VERSION_MAJOR >= 3;
#endif

/// Pools with a dilation, which version 3 always has.
#if DNNL_VERSION_MAJOR >= 3
using PoolingForward = dnnl::pooling_forward;
using PoolingBackward = dnnl::pooling_backward;
#else
using PoolingForward = dnnl::pooling_v2_forward;
using PoolingBackward = dnnl::pooling_v2_backward;
#endif

/// Appends a leaky ReLU to what a primitive does with its result.
inline void append_leaky_relu(dnnl::post_ops& after, float slope) {
#if DNNL_VERSION_MAJOR >= 3
  after.append_eltwise(dnnl::algorithm::eltwise_relu, slope, 0);
#else
  after.append_eltwise(1, dnnl::algorithm::eltwise_relu, slope, 0);
#endif
}

/// The backward pass of a leaky ReLU, from its results.
inline dnnl::eltwise_backward::primitive_desc describe_leaky_relu_backward(
    const dnnl::engine& engine, const dnnl::primitive_attr& attributes, const dnnl::memory::desc& layout,
    float slope) {
  constexpr auto kKind = dnnl::prop_kind::forward_training;
  constexpr auto kAlgorithm = dnnl::algorithm::eltwise_relu_use_dst_for_bwd;
#if DNNL_VERSION_MAJOR >= 3
  const dnnl::eltwise_forward::primitive_desc hint(engine, kKind, kAlgorithm, layout, layout, slope, 0.0f);
  return {engine, kAlgorithm, layout, layout, layout, slope, 0.0f, hint, attributes};
#else
  const dnnl::eltwise_forward::primitive_desc hint({kKind, kAlgorithm, layout, slope, 0}, engine);
  return {{kAlgorithm, layout, layout, slope, 0}, attributes, engine, hint};
#endif
}

}  // namespace cosmo::nn
