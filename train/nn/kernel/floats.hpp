#pragma once
// Private to train/nn: vectors of floats of any width, for kernels that are compiled for several instruction
// sets. Everything here is inlined, so that no code of one set is linked into another's.

#include <cstdint>
#include <cstring>
#include <utility>

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

[[gnu::always_inline]] inline void end_streams() {
#ifdef __AVX__
  _mm_sfence();
#endif
}

/// Sets every lane to `value`. (Adding to zero would turn -0 into 0 and cost an addition.)
template <class V>
[[gnu::always_inline]] inline V broadcast_as(float value) {
  return value - V{};
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
