#pragma once
// Requests for an orderly stop, as job systems and users send them.

namespace cosmo::core {

class Communicator;
class Error;

/// From now on SIGTERM, SIGUSR1 and the first SIGINT (Ctrl-C) do not end the process but are remembered, so
/// that work can be saved first; a second SIGINT ends it. If SIGINT is ignored, as in a shell's background
/// jobs, it stays ignored.
void remember_stop_signals();

/// Restores the signals' default effect, for commands that cannot be continued. A signal received meanwhile
/// takes effect now.
void obey_stop_signals();

/// Whether this process received one of them. May be called from any thread.
bool stop_received();

/// Returns the agreed Error{stopped} for work that ends early and that the same command continues.
Error stopped_early();

/// Throws stopped_early() if any rank received one of them. Collective.
void stop_if_asked(const Communicator& comm);

}  // namespace cosmo::core
