#pragma once

#include <algorithm>

#include "core/timer.hpp"

namespace cosmo::train {

/// [flop/s] The best rate of several runs of `work` on `threads` threads; each thread does `flop` per run.
template <class Work>
double best_rate(int threads, double flop, Work work) {
  double best = 0;
  for (int repeat = 0; repeat < 5; ++repeat) {
    const core::Timer timer;
#pragma omp parallel num_threads(threads)
    work();
    best = std::max(best, flop * threads / timer.seconds());
  }
  return best;
}

}  // namespace cosmo::train
