#include <catch2/catch.hpp>
#include <chrono>
#include <string>
#include <thread>

#include "core/parallel/watchdog.hpp"

using namespace cosmo::core;

namespace {

/// An alarm that must not be raised.
void no_alarm(const std::string& sentence, bool) { FAIL(sentence); }

}  // namespace

TEST_CASE("ranks that work for several times the timeout, without MPI, raise no alarm") {
  const Communicator comm = Communicator::world();
  if (comm.size() == 1) return;
  for (const int late : {0, 1}) {
    Watchdog watchdog(0.9, 0, no_alarm);
    watchdog.begin(comm);
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
    Watchdog watchdog(60, 0, no_alarm);
    watchdog.begin(comm);
    watchdog.leave(again % 2 == 0);
  }
  comm.barrier();
}

TEST_CASE("a beginning that takes too long raises the alarm") {
  std::string told;
  bool may_call_mpi = true;
  {
    Watchdog watchdog(0.3, 0, [&](const std::string& sentence, bool has_mpi) {
      told = sentence;
      may_call_mpi = has_mpi;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  }
  CHECK(told.starts_with("MPI_Init has not ended for "));
  CHECK_FALSE(may_call_mpi);
}
