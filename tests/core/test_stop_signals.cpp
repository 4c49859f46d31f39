#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>

#include "core/stop_signals.hpp"

using cosmo::core::StopSignals;

TEST_CASE("signals that ask to stop are remembered, once and while somebody asks") {
  for (const int signal : {SIGTERM, SIGUSR1}) {
    const StopSignals signals;
    CHECK_FALSE(signals.received());
    std::raise(signal);
    CHECK(signals.received());
    std::raise(signal);
    CHECK(signals.received());
  }
  CHECK_FALSE(StopSignals().received());
}

TEST_CASE("signals end a process again when nobody asks any more") {
  for (const int signal : {SIGTERM, SIGUSR1}) {
    { const StopSignals signals; }
    const pid_t child = fork();
    if (child == 0) {
      std::raise(signal);
      _exit(0);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status));
    CHECK(WTERMSIG(status) == signal);
  }
}
