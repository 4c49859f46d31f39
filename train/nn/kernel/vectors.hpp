#pragma once
// Private to train/nn: vectors of sixteen floats, one block of channels, for our own kernels.

#include <cstdint>
#include <cstring>

#include "core/bfloat16.hpp"
#include "train/nn/kernel/floats.hpp"

#ifdef __AVX512F__
#include <immintrin.h>
#endif

namespace cosmo::nn {

/// Number of channels in a block of the layout nCdhw16c.
constexpr int kBlock = 16;
using Vector [[gnu::vector_size(kBlock * sizeof(float))]] = float;
/// One bit per channel of a block.
using Lanes = std::uint16_t;

/// Whether a Vector fits one register; otherwise the kernels are correct but slow.
#ifdef __AVX512F__
constexpr bool kWideVectors = true;
#else
constexpr bool kWideVectors = false;
#endif

inline Vector load(const float* values) {
  Vector vector;
  std::memcpy(&vector, values, sizeof vector);
  return vector;
}

inline void store(float* values, const Vector& vector) { std::memcpy(values, &vector, sizeof vector); }

inline Vector load(const core::Bfloat16* values) {
  float whole[kBlock];
  for (int i = 0; i < kBlock; ++i) whole[i] = static_cast<float>(values[i]);
  return load(whole);
}

inline void store(core::Bfloat16* values, const Vector& vector) {
  float whole[kBlock];
  store(whole, vector);
  for (int i = 0; i < kBlock; ++i) values[i] = core::Bfloat16(whole[i]);
}

/// Sets every lane to `value`. (Adding to zero would turn -0 into 0 and cost an addition.)
inline Vector broadcast(float value) { return value - Vector{}; }

/// The lanes in which a > b.
inline Lanes above(const Vector& a, const Vector& b) {
#ifdef __AVX512F__
  return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ);
#else
  unsigned lanes = 0;
  for (int i = 0; i < kBlock; ++i) {
    const bool greater = a[i] > b[i];  // a statement of its own: GCC 12's sanitizer otherwise loses i
    lanes |= unsigned{greater} << i;
  }
  return static_cast<Lanes>(lanes);
#endif
}

/// Takes `yes` in these lanes and `no` in the others.
inline Vector select(Lanes lanes, const Vector& yes, const Vector& no) {
#ifdef __AVX512F__
  return _mm512_mask_blend_ps(lanes, no, yes);
#else
  Vector result = no;
  for (int i = 0; i < kBlock; ++i) result[i] = (lanes >> i & 1) != 0 ? yes[i] : no[i];
  return result;
#endif
}

}  // namespace cosmo::nn
