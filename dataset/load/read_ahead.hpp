#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

namespace cosmo::dataset {

/// Makes numbered items in a ring of slots on threads of its own, ahead of one thread that takes them in
/// order: item i in slot i % slots, where it stays until the next one is asked for.
class ReadAhead {
 public:
  /// Makes `item` in its slot; `thread` is 0 … threads − 1. Runs for different slots at once.
  using Make = std::function<void(std::size_t item, int thread)>;

  /// `slots` is at least 2 with threads. Without threads an item is made where it is taken. `together`: making an item
  /// waits for other ranks that make the same one. If all take the same items, each makes the same ones, even when they
  /// are dropped, on the same threads.
  ReadAhead(int threads, std::size_t slots, Make make, bool together = false);
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;
  /// Finishes the items that are being made and begins no other; together, it makes all for which there are slots.
  ~ReadAhead() { drop(); }

  /// Forgets all items; none is being made afterwards.
  void drop();
  /// Begins items 0 … items − 1, after drop().
  void start(std::size_t items);
  /// Waits for the next item, which must exist, and returns its slot; the previous slot is free from then on.
  /// Throws what making the item threw.
  std::size_t take();

 private:
  struct Slot {
    bool ready = false;
    std::exception_ptr error;
  };
  void work(const std::stop_token& stop, std::size_t thread);
  /// Items that may be made: the others have no slot yet.
  std::size_t makeable() const { return std::min(items_, freed_ + slots_.size()); }
  /// Whether a thread has nothing to do.
  bool is_idle(std::size_t thread) const { return next_[thread] >= makeable(); }

  Make make_;
  bool together_;
  std::mutex mutex_;                     ///< guards everything below
  std::condition_variable_any changed_;  ///< one of the counts below, or a slot, has changed
  std::size_t items_ = 0;
  std::vector<std::size_t> next_;  ///< each thread's next item: the threads take turns
  std::size_t taken_ = 0;
  std::size_t freed_ = 0;  ///< items whose slots may be used again
  int making_ = 0;         ///< items that are being made
  std::vector<Slot> slots_;
  std::vector<std::jthread> threads_;  ///< last, so that they end before what they use
};

}  // namespace cosmo::dataset
