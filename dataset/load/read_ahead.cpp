#include "dataset/load/read_ahead.hpp"

#include <omp.h>

#include <algorithm>
#include <utility>

namespace cosmo::dataset {

ReadAhead::ReadAhead(int threads, std::size_t slots, Make make, bool together)
    : make_(std::move(make)), together_(together), next_(static_cast<std::size_t>(threads)), slots_(slots) {
  for (std::size_t thread = 0; thread < next_.size(); ++thread) {
    next_[thread] = thread;
    threads_.emplace_back([this, thread](const std::stop_token& stop) { work(stop, thread); });
  }
}

void ReadAhead::drop() {
  std::unique_lock lock(mutex_);
  const auto all_idle = [&] {
    for (std::size_t thread = 0; thread < next_.size(); ++thread) {
      if (!is_idle(thread)) return false;
    }
    return true;
  };
  if (!together_) items_ = 0;
  changed_.wait(lock, [&] { return making_ == 0 && all_idle(); });
  items_ = taken_ = freed_ = 0;
  for (std::size_t thread = 0; thread < next_.size(); ++thread) next_[thread] = thread;
  std::fill(slots_.begin(), slots_.end(), Slot{});
}

void ReadAhead::start(std::size_t items) {
  const std::lock_guard lock(mutex_);
  items_ = items;
  changed_.notify_all();
}

std::size_t ReadAhead::take() {
  std::unique_lock lock(mutex_);
  freed_ = taken_;
  const std::size_t item = taken_++;
  const std::size_t slot = item % slots_.size();
  if (threads_.empty()) {
    make_(item, 0);
    return slot;
  }
  changed_.notify_all();
  changed_.wait(lock, [&] { return slots_[slot].ready; });
  const Slot taken = std::exchange(slots_[slot], Slot{});
  if (taken.error) std::rethrow_exception(taken.error);
  return slot;
}

void ReadAhead::work(const std::stop_token& stop, std::size_t thread) {
  omp_set_num_threads(1);  // the others compute
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [&] { return !is_idle(thread); }) && !stop.stop_requested()) {
    const std::size_t item = next_[thread];
    next_[thread] += next_.size();
    ++making_;
    lock.unlock();
    std::exception_ptr error;
    try {
      make_(item, static_cast<int>(thread));
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    --making_;
    slots_[item % slots_.size()] = {true, error};
    changed_.notify_all();
  }
}

}  // namespace cosmo::dataset
