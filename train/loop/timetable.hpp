#pragma once

#include <array>

namespace cosmo::train {

/// The kinds of work in a training.
enum class Work { step, validation, checkpoint };

/// Decides when a training saves its state, and when it stops so that the last state is saved in time. It
/// assumes that work lasts as long as the longest of its kind so far. Times are in seconds on one clock.
class Timetable {
 public:
  struct Config {
    double end;                  ///< time by which the last state must be saved
    double checkpoint_interval;  ///< time between two saved states
    double checkpoint_guess;     ///< assumed duration of saving, until the first one is done
    double validation_steps;     ///< assumed duration of validation in steps, until the first one is done
  };

  Timetable(const Config& config, double now);

  /// Records that `work`, which began when the previous work ended, has ended.
  void finished(Work work, double now);

  /// Whether `next` and a checkpoint after it will end in time.
  bool leaves_time_for(Work next, double now) const;
  /// Whether the last saved state has reached its maximum age.
  bool checkpoint_is_due(double now) const { return now - saved_ >= config_.checkpoint_interval; }

 private:
  double longest(Work work) const { return longest_[static_cast<std::size_t>(work)]; }

  Config config_;
  std::array<double, 3> longest_ = {};  ///< by Work; 0: not done yet
  double begun_;                        ///< start of the current work
  double saved_;                        ///< time of the last saved state
};

}  // namespace cosmo::train
