#include "bench/stream_copy.hpp"

#include <omp.h>

#include <algorithm>

#include "core/buffer.hpp"

namespace cosmo::bench {

double stream_copy_rate(std::size_t bytes) {
  const std::size_t size = bytes / sizeof(float);
  core::Buffer<float> from(size), to(size);
  float* __restrict a = from.data();
  float* __restrict b = to.data();
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < size; ++i) a[i] = b[i] = 1;
  double best = 1e9;
  for (int repeat = 0; repeat < 7; ++repeat) {
    const double start = omp_get_wtime();
#pragma omp parallel for schedule(static)
    for (std::size_t i = 0; i < size; ++i) b[i] = a[i];
    best = std::min(best, omp_get_wtime() - start);
  }
  return 2 * static_cast<double>(size * sizeof(float)) / best;
}

}  // namespace cosmo::bench
