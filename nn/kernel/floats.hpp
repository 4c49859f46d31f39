#pragma once
// Vectors of floats of any width, for kernels that are compiled for several instruction
// sets. Everything here is inlined, so that no code of one set is linked into another's.

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "core/bfloat16.hpp"

#if defined(__AVX__)
#include <immintrin.h>
#endif

namespace cosmo::nn {

template <int lanes>
struct FloatsOf {
  using Type [[gnu::vector_size(lanes * sizeof(float))]] = float;
};
/// `lanes` floats.
template <int lanes>
using Floats = typename FloatsOf<lanes>::Type;

template <class V>
[[gnu::always_inline]] inline V load_as(const float* values) {
  V vector;
  std::memcpy(&vector, values, sizeof vector);
  return vector;
}

template <class V>
[[gnu::always_inline]] inline void store_from(float* values, const V& vector) {
  std::memcpy(values, &vector, sizeof vector);
}

/// Unsigned integers, as many as V has floats.
template <class V, class Word>
struct WordsOf {
  using Type [[gnu::vector_size(sizeof(V) / sizeof(float) * sizeof(Word))]] = Word;
};

template <class V>
[[gnu::always_inline]] inline V load_as(const core::Bfloat16* values) {
  typename WordsOf<V, std::uint16_t>::Type halves;
  std::memcpy(&halves, values, sizeof halves);
  return __builtin_bit_cast(V, __builtin_convertvector(halves, typename WordsOf<V, std::uint32_t>::Type)
                                   << 16);
}

/// Rounds to the nearest value, ties to even; NaN stays NaN.
template <class V>
[[gnu::always_inline]] inline void store_from(core::Bfloat16* values, const V& vector) {
  using Words = typename WordsOf<V, std::uint32_t>::Type;
  const auto whole = __builtin_bit_cast(Words, vector);
  const Words rounded = whole + 0x7fffu + ((whole >> 16) & 1u);
  const Words bits = (vector == vector ? rounded : whole | 0x00400000u) >> 16;
  const auto halves = __builtin_convertvector(bits, typename WordsOf<V, std::uint16_t>::Type);
  std::memcpy(static_cast<void*>(values), &halves, sizeof halves);
}

/// Stores past the caches, at a multiple of the vector's size. end_streams() must follow before another thread
/// reads what was stored.
template <class V>
[[gnu::always_inline]] inline void stream(float* values, const V& vector) {
#ifdef __AVX512F__
  if constexpr (sizeof(V) == 64) return _mm512_stream_ps(values, vector);
#endif
#ifdef __AVX__
  if constexpr (sizeof(V) == 32) return _mm256_stream_ps(values, vector);
#endif
  store_from(values, vector);
}

/// Rounded values take half a line of the cache, which is not worth going past it.
template <class V>
[[gnu::always_inline]] inline void stream(core::Bfloat16* values, const V& vector) {
  store_from(values, vector);
}

[[gnu::always_inline]] inline void end_streams() {
#ifdef __AVX__
  _mm_sfence();
#endif
}

/// Asks for a line of the cache that is to be written later. Where another core has read it, a store would otherwise
/// wait for that core, and all later stores with it.
[[gnu::always_inline]] inline void prefetch_to_write(const void* to) { __builtin_prefetch(to, 1); }

/// Sets every lane to `value`. (Adding to zero would turn -0 into 0 and cost an addition.)
template <class V>
[[gnu::always_inline]] inline V broadcast_as(float value) {
  return value - V{};
}

/// One bit per lane.
template <int lanes>
using Lanes = std::conditional_t<lanes == 8, std::uint8_t, std::uint16_t>;

/// The lanes in which a > b.
template <int lanes>
[[gnu::always_inline]] inline Lanes<lanes> above(const Floats<lanes>& a, const Floats<lanes>& b) {
#ifdef __AVX512F__
  if constexpr (lanes == 16) return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ);
#endif
#ifdef __AVX__
  if constexpr (lanes == 8)
    return static_cast<std::uint8_t>(_mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_GT_OQ)));
#endif
  unsigned bits = 0;
  for (int i = 0; i < lanes; ++i) {
    const bool greater = a[i] > b[i];  // a statement of its own: GCC 12's sanitizer otherwise loses i
    bits |= unsigned{greater} << i;
  }
  return static_cast<Lanes<lanes>>(bits);
}

/// Takes `yes` in these lanes and `no` in the others.
template <int lanes>
[[gnu::always_inline]] inline Floats<lanes> select(Lanes<lanes> bits, const Floats<lanes>& yes,
                                                   const Floats<lanes>& no) {
#ifdef __AVX512F__
  if constexpr (lanes == 16) return _mm512_mask_blend_ps(bits, no, yes);
#endif
#ifdef __AVX2__
  if constexpr (lanes == 8) {
    const __m256i own = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    const __m256i chosen = _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32(bits), own), own);
    return _mm256_blendv_ps(no, yes, _mm256_castsi256_ps(chosen));
  }
#endif
  Floats<lanes> result = no;
  for (int i = 0; i < lanes; ++i) result[i] = (bits >> i & 1) != 0 ? yes[i] : no[i];
  return result;
}

template <int... i, class Function>
[[gnu::always_inline]] inline void unrolled(std::integer_sequence<int, i...>, const Function& function) {
  (function(std::integral_constant<int, i>{}), ...);
}

/// Calls function(0), ..., function(count - 1), each with a compile-time argument, so that arrays indexed by
/// it can be registers.
template <int count, class Function>
[[gnu::always_inline]] inline void unrolled(const Function& function) {
  unrolled(std::make_integer_sequence<int, count>{}, function);
}

}  // namespace cosmo::nn
