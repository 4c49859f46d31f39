#include "core/parallel.hpp"

#include <omp.h>

#include <atomic>
#include <exception>
#include <vector>

namespace cosmo::core {

int thread_count() { return omp_get_max_threads(); }

void in_threads(std::size_t size, const std::function<void(std::size_t, std::size_t)>& work) {
  std::atomic<std::size_t> failed = size;  // the lowest item that has failed
  std::vector<std::exception_ptr> failures(size);
#pragma omp parallel for schedule(dynamic)
  for (std::size_t i = 0; i < size; ++i) {
    if (i > failed) continue;
    try {
      work(i, static_cast<std::size_t>(omp_get_thread_num()));
    } catch (...) {
      failures[i] = std::current_exception();
      for (std::size_t lowest = failed; i < lowest && !failed.compare_exchange_weak(lowest, i);) {
      }
    }
  }
  if (failed < size) std::rethrow_exception(failures[failed]);
}

}  // namespace cosmo::core
