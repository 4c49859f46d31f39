#include "train/benchmark/bf16_peak.hpp"

#include "train/benchmark/best_rate.hpp"

#ifdef __x86_64__
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace cosmo::train {

namespace {

constexpr long kProductRounds = 200'000;

#ifdef __x86_64__

constexpr int kSums = 16;  // more than latency × issue width

/// Each instruction makes 16 sums of two products each.
[[gnu::target("avx512f,avx512bf16")]] void dot_products() {
  __m512 sums[kSums] = {};
  __m512bh factor = {};
  for (long round = 0; round < kProductRounds; ++round) {
    asm volatile("" : "+v"(factor));
#pragma GCC unroll 16
    for (__m512& sum : sums) sum = _mm512_dpbf16_ps(sum, factor, factor);
  }
  for (__m512& sum : sums) asm volatile("" : "+v"(sum));
}

/// The palette that tiles of 16 rows of 64 bytes need.
struct alignas(64) TileShapes {
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

/// Each instruction makes 16 × 16 sums of 32 products each. Four tiles of sums and four of factors fill the
/// register file.
[[gnu::target("amx-tile,amx-bf16")]] void tile_products() {
  constexpr long kAllow = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  syscall(SYS_arch_prctl, kAllow, kTileData);
  static constexpr TileShapes shapes;  // in memory: the compiler does not see all of it being read
  _tile_loadconfig(&shapes);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  _tile_zero(4);
  _tile_zero(5);
  _tile_zero(6);
  _tile_zero(7);
  for (long round = 0; round < kProductRounds; ++round) {
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  _tile_release();
}

#endif

}  // namespace

double measure_bf16_peak([[maybe_unused]] int threads, [[maybe_unused]] nn::Bf16Units units) {
#ifdef __x86_64__
  if (units == nn::Bf16Units::tiles)
    return best_rate(threads, 2.0 * 16 * 16 * 32 * 4 * kProductRounds, &tile_products);
  if (units == nn::Bf16Units::dot_products)
    return best_rate(threads, 2.0 * 16 * 2 * kSums * kProductRounds, &dot_products);
#endif
  return 0;
}

}  // namespace cosmo::train
