#include "bench/stream_copy.hpp"

#include <omp.h>

#include <algorithm>
#include <cstddef>

#include "core/buffer.hpp"

namespace cosmo::bench {

double stream_copy_rate() {
  constexpr std::size_t kSize = std::size_t{128} << 20;
  core::Buffer<float> from(kSize), to(kSize);
  float* __restrict a = from.data();
  float* __restrict b = to.data();
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < kSize; ++i) a[i] = b[i] = 1;
  double best = 1e9;
  for (int repeat = 0; repeat < 7; ++repeat) {
    const double start = omp_get_wtime();
#pragma omp parallel for schedule(static)
    for (std::size_t i = 0; i < kSize; ++i) b[i] = a[i];
    best = std::min(best, omp_get_wtime() - start);
  }
  return 2 * kSize * sizeof(float) / best;
}

}  // namespace cosmo::bench
