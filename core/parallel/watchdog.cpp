#include "core/parallel/watchdog.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/log.hpp"
#include "core/machine/host.hpp"
#include "core/parallel/stop_signals.hpp"

namespace cosmo::core {

namespace {

/// [s] The longest time between two checks, the silence allowed once the run is asked to stop, and the time
/// that a rank allows another one for ending the run.
constexpr double kTick = 1, kStopping = 8, kTurn = 2;

bool arrived(MPI_Request& request) {
  if (request == MPI_REQUEST_NULL) return false;
  int done = 0;
  return MPI_Test(&request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && done != 0;
}

bool is_sent(MPI_Request& request) { return request == MPI_REQUEST_NULL || arrived(request); }

}  // namespace

Watchdog::Watchdog(double timeout, std::size_t process, Alarm alarm)
    : timeout_(timeout),
      tick_(std::min(kTick, timeout / 30)),
      alarm_(std::move(alarm)),
      turn_(static_cast<int>(std::min<std::size_t>(process, 2))),
      silence_(1, tick_) {
  thread_ = std::thread([this] { watch(); });
}

void Watchdog::begin(const Communicator& world) {
  Communicator lane = world.split(0);
  lane.abandon();  // the watching thread outlives MPI
  std::vector<std::string> hosts = world.gather(host_name());
  const std::lock_guard lock(mutex_);
  lane_.emplace(std::move(lane));
  hosts_ = std::move(hosts);
  turn_ = turn_to_speak(static_cast<std::size_t>(world.rank()), hosts_);
  if (world.is_root()) {
    for (int rank = 1; rank < world.size(); ++rank) peers_.push_back({rank, false});
    for (Peer& peer : peers_) receive(peer);
  } else {
    peers_.push_back({0, true});
  }
  silence_ = Silence(peers_.size(), tick_);
  phase_ = Phase::working;
}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    phase_ = Phase::over;
  }
  changed_.notify_all();
  thread_.join();
}

void Watchdog::leave(bool done) {
  std::unique_lock lock(mutex_);
  phase_ = Phase::leaving;
  done_ = done;
  since_left_.restart();
  changed_.notify_all();
  changed_.wait(lock, [this] { return phase_ != Phase::leaving; });
}

/// The watching thread's loop.
void Watchdog::watch() {
  std::unique_lock lock(mutex_);
  Timer since_woken_up;
  for (;;) {
    changed_.wait_for(lock, std::chrono::duration<double>(nap()));
    if (phase_ == Phase::over) return;
    silence_.woke_up(since_woken_up.restart());
    const bool meets_others = phase_ == Phase::working || phase_ == Phase::leaving;
    if (meets_others && exchange_signs()) {
      phase_ = Phase::finalizing;
      for (std::size_t i = 0; i < peers_.size(); ++i) silence_.heard(i);
      changed_.notify_all();
    }
    const std::vector<std::size_t> silent = silence_.of_at_least(allowed());
    if (silent.empty()) continue;
    alarm_(loss(silent), meets_others);
    return;
  }
}

/// [s] Time until the next check: short for a leaving rank, longer the longer it waits for the others.
double Watchdog::nap() const {
  return phase_ == Phase::leaving ? std::clamp(since_left_.seconds() / 50, 0.001, tick_) : tick_;
}

/// The silence that is allowed at present [s].
double Watchdog::allowed() const {
  return (stop_received() ? std::min(timeout_, kStopping) : timeout_) + kTurn * turn_;
}

/// Receives signs and sends those that are due. Returns whether all ranks leave and have been notified of it.
bool Watchdog::exchange_signs() {
  const bool root = lane_->is_root();
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    Peer& peer = peers_[i];
    if (!arrived(peer.receiving)) continue;
    silence_.heard(i);
    peer.sign = peer.arriving;
    peer.closed = !root && peer.sign == leaves;
    peer.to_be_told = !peer.closed;
  }
  const bool all_leave = std::ranges::all_of(peers_, [](const Peer& peer) { return peer.sign == leaves; });
  const int sign = phase_ == Phase::leaving && (!root || all_leave) ? leaves : alive;
  bool ended = true;
  for (Peer& peer : peers_) {
    if (peer.to_be_told && is_sent(peer.sending)) {
      peer.to_be_told = false;
      peer.closed = root && sign == leaves;
      if (!peer.closed) receive(peer);
      peer.telling = sign;
      MPI_Isend(&peer.telling, 1, MPI_INT, peer.rank, 0, lane_->handle(), &peer.sending);
    }
    ended = ended && peer.closed && is_sent(peer.sending);
  }
  return ended;
}

void Watchdog::receive(Peer& peer) {
  MPI_Irecv(&peer.arriving, 1, MPI_INT, peer.rank, 0, lane_->handle(), &peer.receiving);
}

std::string Watchdog::loss(const std::vector<std::size_t>& silent) const {
  const std::string duration = format_duration(silence_.longest());
  if (phase_ == Phase::starting) {
    return fmt::format(
        "MPI_Init has not ended for {} (--peer-timeout): a rank, or the way to it, was lost at the very "
        "beginning.",
        duration);
  }
  const bool all_is_done = done_ && (lane_->is_root() || phase_ == Phase::finalizing);
  if (phase_ == Phase::finalizing) {
    return fmt::format(
        "{}MPI_Finalize has not ended for {} (--peer-timeout): a rank, or the way to it, was lost at the "
        "very end.",
        all_is_done ? "All is done, but " : "", duration);
  }
  std::vector<std::size_t> ranks;
  for (const std::size_t i : silent) ranks.push_back(static_cast<std::size_t>(peers_[i].rank));
  return fmt::format(
      "{} sign of life for {} (--peer-timeout) from {}: a host or the way to it is lost, or a process was "
      "stopped{}.",
      all_is_done ? "All is done, but there was no" : "No", duration, with_hosts(ranks, hosts_),
      all_is_done ? "" : "; the same command goes on from what is saved");
}

}  // namespace cosmo::core
