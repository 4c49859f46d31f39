#include "train/benchmark/fma_peak.hpp"

#include "train/benchmark/best_rate.hpp"

namespace cosmo::train {

namespace {

#ifdef __AVX512F__
constexpr int kLanes = 16;
constexpr int kChains = 24;  // of 32 registers; more than latency × issue width
#elif defined(__aarch64__)
constexpr int kLanes = 4;
constexpr int kChains = 24;  // of 32 registers
#else
constexpr int kLanes = 8;
constexpr int kChains = 12;  // of 16 registers
#endif
using Register [[gnu::vector_size(kLanes * sizeof(float))]] = float;

/// Hides the value from the compiler, so that it is not optimised away.
void hide(Register& value) {
#ifdef __aarch64__
  asm volatile("" : "+w"(value));
#else
  asm volatile("" : "+v"(value));
#endif
}

constexpr long kRounds = 400'000;

/// Runs kRounds × kChains independent fused multiply-adds.
void multiply_add() {
  Register chains[kChains] = {};
  for (Register& chain : chains) hide(chain);
  Register factor = Register{} + 0.5f;
  Register addend = Register{} + 1.0f;
  for (long round = 0; round < kRounds; ++round) {
    hide(factor);
    hide(addend);
#pragma GCC unroll 32
    for (Register& chain : chains) chain = chain * factor + addend;
  }
  for (Register& chain : chains) hide(chain);
}

}  // namespace

double measure_fma_peak(int threads) {
  return best_rate(threads, 2.0 * kLanes * kChains * kRounds, &multiply_add);
}

}  // namespace cosmo::train
