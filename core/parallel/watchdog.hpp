#pragma once
// Nobody waits for ever for a rank that is lost.

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

/// Raises an alarm when a rank of the run is lost without a goodbye: with its host, by a cut link, stopped.
/// The others wait for it in collective calls, which MPI does not end, MPI_Init and MPI_Finalize among them.
///
/// A thread of each rank exchanges signs of life with root's, so that a rank that works for long without
/// calling MPI is not taken for lost. Each sign is answered by one, so that at most one is under way in each
/// direction between two ranks, and none is left at the end.
class Watchdog {
 public:
  /// Gets one sentence, on the watching thread, and ends the process. `has_mpi`: MPI may be called.
  using Alarm = std::function<void(const std::string& sentence, bool has_mpi)>;

  /// To be made before MPI's beginning, which is watched. `timeout` [s]: the silence that is allowed; after a
  /// signal to stop, eight seconds at most. `process`: its number in the run, as the launcher told it.
  Watchdog(double timeout, std::size_t process, Alarm alarm);
  /// To be called after MPI's end.
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// From here on ranks exchange signs of life. Collective over `world`, which has several.
  void begin(const Communicator& world);
  /// Waits for all ranks to come here and ends the signs of life. From here on MPI_Finalize is watched: it
  /// has the same time to end. `done`: this rank's work succeeded. Collective.
  void leave(bool done);

 private:
  enum class Phase { starting, working, leaving, finalizing, over };
  /// What a sign says: that the sender lives; of a rank, that it leaves; of root, that all do.
  enum Sign : int { alive, leaves };
  struct Peer {
    int rank;
    bool to_be_told;      ///< it waits for a sign of this rank's
    bool closed = false;  ///< the last sign was given
    int sign = alive;     ///< its last
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

  std::mutex mutex_;  ///< for what follows
  std::condition_variable changed_;
  Phase phase_ = Phase::starting;
  std::optional<Communicator> lane_;  ///< of the thread alone
  std::vector<std::string> hosts_;
  int turn_;
  bool done_ = false;
  Timer since_left_;
  std::vector<Peer> peers_;  ///< of root all others, of others root
  Silence silence_;          ///< of peers_, of MPI itself at its beginning
  std::thread thread_;
};

}  // namespace cosmo::core
