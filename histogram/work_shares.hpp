#pragma once

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <optional>
#include <vector>

namespace cosmo::histogram {

/// Items 0 … items − 1, divided among threads: each has a run of neighbours and takes them in order; a thread
/// that has none left takes the last item of the longest run.
class WorkShares {
 public:
  WorkShares(std::size_t items, std::size_t threads) : left_(items) {
    for (std::size_t t = 0; t < threads; ++t)
      runs_.push_back({items * t / threads, items * (t + 1) / threads});
  }

  std::optional<std::size_t> take(std::size_t thread) {
    const std::lock_guard lock(mutex_);
    if (left_ == 0) return std::nullopt;
    --left_;
    if (runs_[thread].size() > 0) return runs_[thread].first++;
    return --std::ranges::max_element(runs_, {}, &Run::size)->last;
  }
  /// Number of items not taken yet; call while no thread takes any.
  std::size_t left() const { return left_; }

 private:
  struct Run {
    std::size_t first, last;
    std::size_t size() const { return last - first; }
  };
  std::mutex mutex_;
  std::size_t left_;
  std::vector<Run> runs_;
};

}  // namespace cosmo::histogram
