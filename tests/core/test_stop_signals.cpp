#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>

#include "core/stop_signals.hpp"

using cosmo::core::StopSignals;

namespace {

/// Checks which signal ends a process that does `work`; 0 if none does.
template <typename Work>
void check_child(int signal, const Work& work) {
  const pid_t child = fork();
  if (child == 0) {
    work();
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK((WIFSIGNALED(status) ? WTERMSIG(status) : 0) == signal);
}

}  // namespace

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
  for (const int signal : {SIGTERM, SIGUSR1, SIGINT}) {
    std::signal(SIGINT, SIG_DFL);
    { const StopSignals signals; }
    check_child(signal, [&] { std::raise(signal); });
  }
}

TEST_CASE("the first interruption is remembered, the second ends the process") {
  check_child(SIGINT, [] {
    std::signal(SIGINT, SIG_DFL);
    const StopSignals signals;
    std::raise(SIGINT);
    if (signals.received()) std::raise(SIGINT);
  });
}

TEST_CASE("an interruption that was ignored stays ignored") {
  check_child(0, [] {
    std::signal(SIGINT, SIG_IGN);
    const StopSignals signals;
    std::raise(SIGINT);
    if (signals.received()) std::raise(SIGKILL);
  });
}
