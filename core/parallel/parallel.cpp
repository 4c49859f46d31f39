#include "core/parallel/parallel.hpp"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <vector>

namespace cosmo::core {

int thread_count() { return omp_get_max_threads(); }

void limit_threads(int most) { omp_set_num_threads(std::min(most, thread_count())); }

namespace {

/// Keeps the failure of the lowest failing item, whichever thread it ran on.
class Failures {
 public:
  explicit Failures(std::size_t size) : lowest_(size), failures_(size) {}

  void run(std::size_t item, const std::function<void(std::size_t, std::size_t)>& work) {
    if (item >= lowest_) return;
    try {
      work(item, static_cast<std::size_t>(omp_get_thread_num()));
    } catch (...) {
      failures_[item] = std::current_exception();
      for (std::size_t lowest = lowest_; item < lowest && !lowest_.compare_exchange_weak(lowest, item);) {
      }
    }
  }
  void rethrow() const {
    if (lowest_ < failures_.size()) std::rethrow_exception(failures_[lowest_]);
  }

 private:
  std::atomic<std::size_t> lowest_;
  std::vector<std::exception_ptr> failures_;
};

}  // namespace

void in_threads(std::size_t size, const std::function<void(std::size_t, std::size_t)>& work) {
  Failures failures(size);
#pragma omp parallel for schedule(dynamic)
  for (std::size_t i = 0; i < size; ++i) failures.run(i, work);
  failures.rethrow();
}

void in_threads(std::size_t size, const std::function<void(std::size_t, std::size_t)>& work,
                const std::function<void(std::size_t, std::size_t)>& then) {
  Failures failures(size);
#pragma omp parallel for ordered schedule(dynamic)
  for (std::size_t i = 0; i < size; ++i) {
    failures.run(i, work);
#pragma omp ordered
    failures.run(i, then);
  }
  failures.rethrow();
}

}  // namespace cosmo::core
