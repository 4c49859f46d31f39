#include "dataset/voxels/look_up.hpp"

#ifdef __x86_64__
#include <immintrin.h>
#endif

#include <cstddef>

namespace cosmo::dataset {

namespace {

void look_up_each(const float* table, std::span<const std::uint16_t> counts, float* voxels) {
  for (std::size_t i = 0; i < counts.size(); ++i) voxels[i] = table[counts[i]];
}

#ifdef __x86_64__

constexpr std::size_t kLanes = 16, kInRegisters = 2 * kLanes;

/// Most counts are small, and the first 32 entries fit into two registers. Needs a multiple of 16 counts and
/// aligned `voxels`.
[[gnu::target("avx512f,avx512bw")]] void look_up_wide(const float* table,
                                                      std::span<const std::uint16_t> counts, float* voxels) {
  const __m512 low = _mm512_loadu_ps(table), high = _mm512_loadu_ps(table + kLanes);
  const __m512i first_beyond = _mm512_set1_epi32(kInRegisters);
  for (std::size_t i = 0; i < counts.size(); i += kLanes) {
    const __m512i index =
        _mm512_maskz_cvtepu16_epi32(0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(&counts[i])));
    __m512 values = _mm512_permutex2var_ps(low, index, high);
    const __mmask16 beyond = _mm512_cmpge_epi32_mask(index, first_beyond);
    if (beyond != 0) values = _mm512_mask_i32gather_ps(values, beyond, index, table, sizeof(float));
    _mm512_stream_ps(voxels + i, values);
  }
}

/// Number of counts, from the first, that look_up_wide() can do.
std::size_t wide_part(std::span<const std::uint16_t> counts, const float* voxels) {
  static const bool supported = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw");
  const bool aligned = reinterpret_cast<std::uintptr_t>(voxels) % sizeof(__m512) == 0;
  return supported && aligned ? counts.size() / kLanes * kLanes : 0;
}

#endif

}  // namespace

void look_up(std::span<const float> table, std::span<const std::uint16_t> counts, std::span<float> voxels) {
  std::size_t done = 0;
#ifdef __x86_64__
  done = wide_part(counts, voxels.data());
  if (done > 0) look_up_wide(table.data(), counts.first(done), voxels.data());
#endif
  look_up_each(table.data(), counts.subspan(done), voxels.data() + done);
}

void end_look_up() {
#ifdef __x86_64__
  _mm_sfence();
#endif
}

}  // namespace cosmo::dataset
