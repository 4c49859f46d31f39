#pragma once

#include <omp.h>

namespace cosmo::nn {

/// As long as it lives, and if it is wanted, OpenMP has one thread: oneDNN's sums depend on the number of threads
/// for which a primitive is described.
class OneThread {
 public:
  explicit OneThread(bool wanted) : before_(wanted ? omp_get_max_threads() : 0) {
    if (wanted) omp_set_num_threads(1);
  }
  ~OneThread() {
    if (before_ > 0) omp_set_num_threads(before_);
  }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;  ///< 0: not wanted
};

}  // namespace cosmo::nn
