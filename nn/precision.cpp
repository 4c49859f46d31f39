#include "nn/precision.hpp"

#include <oneapi/dnnl/dnnl.hpp>

#include "core/error.hpp"

namespace cosmo::nn {

using core::ensure;
using core::Fault;

namespace {

bool has([[maybe_unused]] dnnl::cpu_isa wanted) {
#ifdef __x86_64__
  const auto bits = static_cast<unsigned>(wanted);  // a set: each instruction set includes earlier ones
  return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & bits) == bits;
#else
  return false;  // all of them are of x86-64
#endif
}

}  // namespace

bool uses_avx512() { return has(dnnl::cpu_isa::avx512_core); }

Bf16Units bf16_units() {
  return has(dnnl::cpu_isa::avx512_core_amx)    ? Bf16Units::tiles
         : has(dnnl::cpu_isa::avx512_core_bf16) ? Bf16Units::dot_products
                                                : Bf16Units::none;
}

void ensure_units(Precision precision) {
  ensure(
      precision == Precision::f32 || bf16_units() != Bf16Units::none, Fault::config,
      "This CPU has no instructions for --precision bf16 (AVX512_BF16): choose f32, which is faster on it.");
}

}  // namespace cosmo::nn
