#pragma once

#include <chrono>
#include <utility>

namespace cosmo::core {

/// Measures the time since it was created or restarted [s] with a monotonic clock.
class Timer {
 public:
  double seconds() const { return seconds_until(Clock::now()); }
  /// Returns seconds() and restarts.
  double restart() {
    const Timer before = std::exchange(*this, Timer());
    return before.seconds_until(start_);
  }

 private:
  using Clock = std::chrono::steady_clock;

  double seconds_until(Clock::time_point end) const {
    return std::chrono::duration<double>(end - start_).count();
  }

  Clock::time_point start_ = Clock::now();
};

}  // namespace cosmo::core
