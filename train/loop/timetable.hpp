#pragma once

#include <array>

namespace cosmo::train {

/// What a training spends its time on.
enum class Work { step, validation, checkpoint };

/// When a training saves its state, and when it stops so that the last state is saved in time. Work is taken
/// to last as long as the longest of its kind so far. Times are in seconds of one clock.
class Timetable {
 public:
  struct Config {
    double end;                  ///< by when the last state is to be saved
    double checkpoint_interval;  ///< between two states that are saved
    double checkpoint_guess;     ///< how long saving takes, until it was done once
    double validation_steps;     ///< how many steps validation is worth, until it was done once
  };

  Timetable(const Config& config, double now);

  /// Notes that `work` has ended, which began when the work before it ended.
  void finished(Work work, double now);

  /// Whether `next` and a checkpoint after it end in time.
  bool leaves_time_for(Work next, double now) const;
  /// Whether the last saved state is as old as it may become.
  bool checkpoint_is_due(double now) const { return now - saved_ >= config_.checkpoint_interval; }

 private:
  double longest(Work work) const { return longest_[static_cast<std::size_t>(work)]; }

  Config config_;
  std::array<double, 3> longest_ = {};  ///< by Work; 0: not done yet
  double begun_;                        ///< the work at hand
  double saved_;
};

}  // namespace cosmo::train
