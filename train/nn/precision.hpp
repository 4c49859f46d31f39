#pragma once

#include <array>
#include <cstdint>

#include "core/named.hpp"

namespace cosmo::nn {

/// What a network computes its convolutions and pools in. Weights, their gradients, dense layers and all that
/// stands outside the network are f32 in either.
enum class Precision { f32, bf16 };

/// What a CPU has for bf16: nothing; dot products of pairs (AVX512_BF16); besides, tiles of matrices (AMX).
enum class Bf16Units { none, dot_products, tiles };

/// What oneDNN uses of this CPU; the environment's ONEDNN_MAX_CPU_ISA may allow it less than there is.
Bf16Units bf16_units();

inline constexpr std::array<core::Named<Precision>, 2> kPrecisions = {
    {{"f32", Precision::f32}, {"bf16", Precision::bf16}}};

/// Throws Error{config} for bf16 where the CPU has nothing for it: oneDNN would compute the same more slowly
/// than f32.
void ensure_units(Precision precision);

/// Whether a convolution of so many input channels computes in bf16. Of up to three channels the tiles and
/// pairs would be filled with zeros mostly: f32 is faster.
constexpr bool convolves_in_bf16(Precision precision, std::int64_t channels) {
  return precision == Precision::bf16 && channels > 3;
}

}  // namespace cosmo::nn
