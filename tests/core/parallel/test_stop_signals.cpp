#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>

#include "core/parallel/stop_signals.hpp"

using cosmo::core::obey_stop_signals;
using cosmo::core::remember_stop_signals;
using cosmo::core::stop_received;

namespace {

/// Checks which signal ends a process that does `work`; 0 if none does.
template <typename Work>
void check_child(int signal, const Work& work) {
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGINT, SIG_DFL);
    work();
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK((WIFSIGNALED(status) ? WTERMSIG(status) : 0) == signal);
}

/// Ends this process by a signal that nothing else here uses unless the condition holds.
void demand(bool condition) {
  if (!condition) std::raise(SIGKILL);
}

}  // namespace

TEST_CASE("signals that ask to stop are remembered") {
  for (const int signal : {SIGTERM, SIGUSR1}) {
    check_child(0, [&] {
      remember_stop_signals();
      demand(!stop_received());
      std::raise(signal);
      demand(stop_received());
      std::raise(signal);
      demand(stop_received());
    });
  }
}

TEST_CASE("signals end a process once it obeys them again") {
  for (const int signal : {SIGTERM, SIGUSR1, SIGINT}) {
    check_child(signal, [&] {
      remember_stop_signals();
      obey_stop_signals();
      std::raise(signal);
    });
  }
}

TEST_CASE("a signal that came earlier ends a process once it obeys them") {
  for (const int signal : {SIGTERM, SIGUSR1, SIGINT}) {
    check_child(signal, [&] {
      remember_stop_signals();
      std::raise(signal);
      obey_stop_signals();
    });
  }
}

TEST_CASE("the first interruption is remembered, the second ends the process") {
  check_child(SIGINT, [] {
    remember_stop_signals();
    std::raise(SIGINT);
    if (stop_received()) std::raise(SIGINT);
  });
}

TEST_CASE("an interruption that was ignored stays ignored") {
  check_child(0, [] {
    std::signal(SIGINT, SIG_IGN);
    remember_stop_signals();
    std::raise(SIGINT);
    demand(!stop_received());
    obey_stop_signals();
    std::raise(SIGINT);
  });
}
