#include "train/loop/timetable.hpp"

#include <algorithm>

namespace cosmo::train {

Timetable::Timetable(const Config& config, double now) : config_(config), begun_(now), saved_(now) {}

void Timetable::finished(Work work, double now) {
  double& longest = longest_[static_cast<std::size_t>(work)];
  longest = std::max(longest, now - begun_);
  begun_ = now;
  if (work == Work::checkpoint) saved_ = now;
}

bool Timetable::leaves_time_for(Work next, double now) const {
  const bool unknown = next == Work::validation && longest(next) == 0;
  const double work = unknown ? config_.validation_steps * longest(Work::step) : longest(next);
  const double checkpoint =
      longest(Work::checkpoint) == 0 ? config_.checkpoint_guess : longest(Work::checkpoint);
  return now + work + checkpoint <= config_.end;
}

}  // namespace cosmo::train
