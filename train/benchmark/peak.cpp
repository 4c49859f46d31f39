#include "train/benchmark/peak.hpp"

#include "train/benchmark/bf16_peak.hpp"
#include "train/benchmark/fma_peak.hpp"

namespace cosmo::train {

Peak measure_peak(int threads, nn::Precision precision) {
  if (precision == nn::Precision::f32) return {measure_fma_peak(threads), "fused multiply-adds in f32"};
  const nn::Bf16Units units = nn::bf16_units();
  return {measure_bf16_peak(threads, units),
          units == nn::Bf16Units::tiles ? "AMX tiles in bf16" : "AVX512_BF16 dot products"};
}

}  // namespace cosmo::train
