#pragma once
// Ends a run whose ranks would otherwise wait for ever for a lost one.

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/parallel/communicator.hpp"
#include "core/parallel/silence.hpp"
#include "core/timer.hpp"

namespace cosmo::core {

/// Raises an alarm when a rank of the run is lost without notice: its host failed, a link was cut, or the
/// process was stopped. The others would wait for it in collective calls that MPI does not end, including
/// MPI_Init and MPI_Finalize.
///
/// A thread of each rank exchanges signs of life with root's thread, so that a rank that works for long
/// without calling MPI is not taken for lost. Each sign is answered by one, so that at most one is under way
/// in each direction between two ranks, and none is left at the end.
class Watchdog {
 public:
  /// Receives one sentence, on the watching thread, and ends the process. `has_mpi`: MPI may be called.
  using Alarm = std::function<void(const std::string& sentence, bool has_mpi)>;

  /// Create before MPI_Init, which is watched too. `timeout` [s]: the silence that is allowed; at most eight
  /// seconds after a signal to stop. `process`: this process's number in the run, as set by the launcher.
  Watchdog(double timeout, std::size_t process, Alarm alarm);
  /// Destroy after MPI_Finalize.
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// Starts the exchange of signs of life. Collective over `world`, which has several ranks.
  void begin(const Communicator& world);
  /// Waits for all ranks to call this and ends the exchange. From here on MPI_Finalize is watched, with the
  /// same timeout. `done`: this rank's work succeeded. Collective.
  void leave(bool done);

 private:
  enum class Phase { starting, working, leaving, finalizing, over };
  /// Meaning of a sign: the sender is alive; a rank leaves or, if the sender is root, all ranks do.
  enum Sign : int { alive, leaves };
  struct Peer {
    int rank;
    bool to_be_told;      ///< it waits for a sign from this rank
    bool closed = false;  ///< the last sign was given
    int sign = alive;     ///< last sign received
    int arriving = alive, telling = alive;
    MPI_Request receiving = MPI_REQUEST_NULL, sending = MPI_REQUEST_NULL;
  };

  void watch();
  double nap() const;
  double allowed() const;
  bool exchange_signs();
  void receive(Peer& peer);
  std::string loss(const std::vector<std::size_t>& silent) const;

  double timeout_;
  double tick_;
  Alarm alarm_;

  std::mutex mutex_;  ///< protects the members below
  std::condition_variable changed_;
  Phase phase_ = Phase::starting;
  std::optional<Communicator> lane_;  ///< used by the watching thread alone
  std::vector<std::string> hosts_;
  int turn_;
  bool done_ = false;
  Timer since_left_;
  std::vector<Peer> peers_;  ///< on root all other ranks, on the others root
  Silence silence_;          ///< silence of peers_; during MPI_Init, of MPI itself
  std::thread thread_;
};

}  // namespace cosmo::core
