#include "core/stop_signals.hpp"

#include <atomic>
#include <csignal>

namespace cosmo::core {

namespace {

std::atomic<bool> stop_received = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler must not wait");

void on_signal(int) { stop_received = true; }

void set_effect(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;  // reading and writing go on as if nothing had been
  sigemptyset(&action.sa_mask);
  for (const int signal : {SIGTERM, SIGUSR1}) sigaction(signal, &action, nullptr);
  struct sigaction interrupt = {};
  sigaction(SIGINT, nullptr, &interrupt);
  if (interrupt.sa_handler == SIG_IGN) return;
  action.sa_flags |= static_cast<int>(SA_RESETHAND);  // who is in a hurry sends it twice
  sigaction(SIGINT, &action, nullptr);
}

}  // namespace

StopSignals::StopSignals() { set_effect(&on_signal); }

StopSignals::~StopSignals() {
  set_effect(SIG_DFL);
  stop_received = false;
}

bool StopSignals::received() const { return stop_was_asked(); }

bool stop_was_asked() { return stop_received; }

}  // namespace cosmo::core
