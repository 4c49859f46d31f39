#pragma once
// Requests to stop in order, as job systems and users send them.

namespace cosmo::core {

class Communicator;
class Error;

/// From now on SIGTERM, SIGUSR1 and the first SIGINT (Ctrl-C) do not end the process but are remembered, for
/// work to be saved first; a second SIGINT ends it. A SIGINT that is ignored, as by a shell's background
/// jobs, stays so.
void remember_stop_signals();

/// Gives the signals their usual effect back, which one that came meanwhile has now: for what cannot be
/// continued.
void obey_stop_signals();

/// Whether one of them came to this process. From any thread.
bool stop_received();

/// The agreed Error{stopped} of work that ends before all is done, and that the same command continues.
Error stopped_early();

/// Throws stopped_early() if one of them came to any rank. Collective.
void stop_if_asked(const Communicator& comm);

}  // namespace cosmo::core
