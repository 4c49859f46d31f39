#include <catch2/catch.hpp>
#include <limits>

#include "train/loop/timetable.hpp"

using cosmo::train::Timetable;
using cosmo::train::Work;

TEST_CASE("a training stops when its longest step and checkpoint would not end in time") {
  Timetable table({.end = 100, .checkpoint_interval = 1000, .checkpoint_guess = 5, .validation_steps = 3},
                  10);
  CHECK(table.leaves_time_for(Work::step, 95));  // no step was done yet: only saving is expected
  CHECK_FALSE(table.leaves_time_for(Work::step, 95.5));
  table.finished(Work::step, 30);
  table.finished(Work::step, 40);
  CHECK(table.leaves_time_for(Work::step, 75));  // 20 s of the longest step, 5 s of the guess
  CHECK_FALSE(table.leaves_time_for(Work::step, 76));
  CHECK(table.leaves_time_for(Work::validation, 35));  // three steps
  CHECK_FALSE(table.leaves_time_for(Work::validation, 36));
  table.finished(Work::checkpoint, 41);
  CHECK(table.leaves_time_for(Work::step, 79));
  CHECK_FALSE(table.leaves_time_for(Work::step, 79.5));
  table.finished(Work::validation, 43);
  CHECK(table.leaves_time_for(Work::validation, 97));
  CHECK_FALSE(table.leaves_time_for(Work::validation, 97.5));
}

TEST_CASE("without a limit there is always time, and without an interval nothing is due") {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  Timetable table({.end = kNone, .checkpoint_interval = kNone, .checkpoint_guess = 1, .validation_steps = 1},
                  0);
  table.finished(Work::step, 1e9);
  CHECK(table.leaves_time_for(Work::validation, 2e9));
  CHECK_FALSE(table.checkpoint_is_due(2e9));
}

TEST_CASE("a checkpoint is due when the last one is as old as it may become") {
  Timetable table({.end = 1e9, .checkpoint_interval = 60, .checkpoint_guess = 1, .validation_steps = 1}, 100);
  table.finished(Work::step, 159);
  CHECK_FALSE(table.checkpoint_is_due(159));
  CHECK(table.checkpoint_is_due(160));
  table.finished(Work::checkpoint, 162);
  CHECK_FALSE(table.checkpoint_is_due(221));
  CHECK(table.checkpoint_is_due(222));
}
