#include "core/parallel/stop_signals.hpp"

#include <atomic>
#include <csignal>
#include <initializer_list>

#include "core/error.hpp"
#include "core/parallel/communicator.hpp"

namespace cosmo::core {

namespace {

std::atomic<int> received = 0;  ///< the last signal received, or 0
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler must not wait");

void on_signal(int signal) { received = signal; }

void set_effect(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;  // interrupted reads and writes continue
  sigemptyset(&action.sa_mask);
  for (const int signal : {SIGTERM, SIGUSR1}) sigaction(signal, &action, nullptr);
  struct sigaction interrupt = {};
  sigaction(SIGINT, nullptr, &interrupt);
  if (interrupt.sa_handler == SIG_IGN) return;
  action.sa_flags |= static_cast<int>(SA_RESETHAND);  // a second one ends the process at once
  sigaction(SIGINT, &action, nullptr);
}

}  // namespace

void remember_stop_signals() {
  received = 0;
  set_effect(&on_signal);
}

void obey_stop_signals() {
  set_effect(SIG_DFL);
  if (const int signal = received.exchange(0)) std::raise(signal);
}

bool stop_received() { return received != 0; }

Error stopped_early() {
  return Error(Fault::stopped,
               "Stopped before all was done: finished work is kept; rerun the same command to continue.",
               true);
}

void stop_if_asked(const Communicator& comm) {
  if (comm.max(stop_received() ? 1 : 0) > 0) throw stopped_early();
}

}  // namespace cosmo::core
