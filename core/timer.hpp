#pragma once

#include <chrono>
#include <utility>

namespace cosmo::core {

/// Tells the time since it was made or restarted [s], by a clock that nobody sets.
class Timer {
 public:
  double seconds() const { return seconds_until(Clock::now()); }
  /// seconds(), which begin anew.
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
