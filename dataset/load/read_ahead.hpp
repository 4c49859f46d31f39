#pragma once

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

  /// `slots` is at least 2 with threads. Without threads an item is made where it is taken.
  ReadAhead(int threads, std::size_t slots, Make make);
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;
  /// Finishes the items that are being made and begins no other.
  ~ReadAhead() = default;

  /// Forgets all items; none is being made afterwards.
  void drop();
  /// Begins items 0 … items − 1, after drop().
  void start(std::size_t items);
  /// Waits for the next item, which must exist, and returns its slot; the previous slot is free from then on.
  /// Throws what making the item threw.
  std::size_t take();

 private:
  struct Slot {
    bool made = false;
    std::exception_ptr error;
  };
  void work(const std::stop_token& stop, int thread);

  Make make_;
  std::mutex mutex_;                     ///< guards everything below
  std::condition_variable_any changed_;  ///< one of the counts below, or a slot, has changed
  std::size_t items_ = 0;
  std::size_t begun_ = 0;  ///< items that threads have begun
  std::size_t taken_ = 0;
  std::size_t freed_ = 0;  ///< items whose slots may be used again
  int making_ = 0;         ///< items that are being made
  std::vector<Slot> slots_;
  std::vector<std::jthread> threads_;  ///< last, so that they end before what they use
};

}  // namespace cosmo::dataset
