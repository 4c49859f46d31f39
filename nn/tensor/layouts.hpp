#pragma once
// How the values of tensors lie in memory, and access to them.

#include <cstdint>
#include <span>

#include "core/bfloat16.hpp"
#include "nn/tensor/onednn.hpp"

namespace cosmo::nn {

/// The row-major layout.
dnnl::memory::desc plain_layout(const dnnl::memory::dims& dims,
                                dnnl::memory::data_type type = dnnl::memory::data_type::f32);
/// The layout that oneDNN may choose.
dnnl::memory::desc free_layout(const dnnl::memory::dims& dims, dnnl::memory::data_type type);

/// Number of channels of a tensor (N, C, D, H, W) that lie side by side, for kernels that walk its cells.
struct ChannelBlock {
  dnnl::memory::format_tag tag;  ///< ncdhw, nCdhw8c, nCdhw16c or ndhwc
  std::int64_t channels;         ///< 1, 8, 16 or C; 0 in any other layout
};
ChannelBlock channel_block(const dnnl::memory::desc& layout);

/// The same layout, f32 or one with a channel block, with values of another type.
dnnl::memory::desc with_type(const dnnl::memory::desc& layout, dnnl::memory::data_type type);
/// Whether tensors of these layouts have identical bytes.
bool same_bytes(const dnnl::memory::desc& a, const dnnl::memory::desc& b);

/// Pointer to the elements of a tensor, for kernels that compute their number themselves.
template <class T>
T* data(const dnnl::memory& memory) {
  return static_cast<T*>(memory.get_data_handle());
}

/// The values of a tensor, padding included; T is float or core::Bfloat16.
template <class T = float>
std::span<T> values_of(const dnnl::memory& memory) {
  return {data<T>(memory), memory.get_desc().get_size() / sizeof(T)};
}
inline bool is_bf16(const dnnl::memory& memory) {
  return type_of(memory.get_desc()) == dnnl::memory::data_type::bf16;
}

}  // namespace cosmo::nn
