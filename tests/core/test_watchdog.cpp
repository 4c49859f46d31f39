#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

#include "core/watchdog.hpp"

using namespace cosmo::core;

namespace {

/// Nobody may raise it.
void no_alarm(const std::string& sentence, bool) { FAIL(sentence); }

}  // namespace

TEST_CASE("ranks that work for several times the timeout, without MPI, raise no alarm") {
  const Communicator comm = Communicator::world();
  if (comm.size() == 1) return;
  for (const int late : {0, 1}) {
    Watchdog watchdog(comm, 0.9, no_alarm);
    if (comm.rank() == late) std::this_thread::sleep_for(std::chrono::seconds(2));
    const Timer leaving;
    watchdog.leave(true);
    if (comm.rank() != late) CHECK(leaving.seconds() > 1.5);
  }
}

TEST_CASE("all leave in order, again and again") {
  const Communicator comm = Communicator::world();
  if (comm.size() == 1) return;
  for (int again = 0; again < 50; ++again) {
    Watchdog watchdog(comm, 60, no_alarm);
    watchdog.leave(again % 2 == 0);
  }
  comm.barrier();
}
