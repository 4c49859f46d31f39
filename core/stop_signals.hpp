#pragma once
// Requests to stop in order, as job systems and users send them.

namespace cosmo::core {

/// While it lives, SIGTERM, SIGUSR1 and the first SIGINT (Ctrl-C) do not end the process but are remembered,
/// for work to be saved first; a second SIGINT ends it. A SIGINT that is ignored, as by a shell's background
/// jobs, stays so.
/// One a process: a signal handler can only reach what is static.
class StopSignals {
 public:
  StopSignals();
  /// Gives the signals their effect back and forgets those that came.
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// Whether one of them came to this process.
  bool received() const;
};

/// Whether a signal to stop came to this process, while there is a StopSignals. From any thread.
bool stop_was_asked();

}  // namespace cosmo::core
