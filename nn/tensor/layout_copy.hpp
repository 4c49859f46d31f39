#pragma once
// Copies of tensors in f32 and bf16 from any layout into any other, for those that oneDNN gets
// wrong.

#include "nn/tensor/onednn.hpp"

namespace cosmo::nn {

/// Whether oneDNN may be wrong in copying between these layouts.
bool needs_own_copy(const dnnl::memory::desc& source, const dnnl::memory::desc& target);

/// Copies all values, rounding to the target's type, and sets the target's padding to zero.
void copy_layout(const dnnl::memory& source, const dnnl::memory& target);

}  // namespace cosmo::nn
