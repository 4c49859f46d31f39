#pragma once

#include <array>
#include <cstdint>

#include "core/named.hpp"

namespace cosmo::nn {

/// The format in which a network computes its convolutions and pools. Weights, their gradients, dense layers
/// and everything outside the network are f32 with either.
enum class Precision { f32, bf16 };

/// A CPU's units for bf16: none; dot products of pairs (AVX512_BF16); those and matrix tiles (AMX).
enum class Bf16Units { none, dot_products, tiles };

/// The units of this CPU that oneDNN uses; the environment's ONEDNN_MAX_CPU_ISA may restrict them.
Bf16Units bf16_units();

/// Whether oneDNN uses AVX-512 here; the environment's ONEDNN_MAX_CPU_ISA may restrict it.
bool uses_avx512();

inline constexpr std::array<core::Named<Precision>, 2> kPrecisions = {
    {{"f32", Precision::f32}, {"bf16", Precision::bf16}}};

/// Throws Error{config} for bf16 if the CPU has no units for it: oneDNN would compute the same, but more
/// slowly than in f32.
void ensure_units(Precision precision);

/// Whether a convolution with `channels` input channels can gain from bf16. With up to three channels the tiles and
/// pairs would mostly be filled with zeros, and f32 is faster.
constexpr bool convolves_in_bf16(Precision precision, std::int64_t channels) {
  return precision == Precision::bf16 && channels > 3;
}

}  // namespace cosmo::nn
