#pragma once
// Who has been silent for how long, and how that is told.

#include <cstddef>
#include <string>
#include <vector>

namespace cosmo::core {

/// For how long others have not been heard, by this process's own wake-ups: one that comes late, because the
/// process was stopped or its machine slept, counts for no more than one in time.
class Silence {
 public:
  /// `tick` [s]: the most that a wake-up counts for.
  Silence(std::size_t others, double tick) : tick_(tick), seconds_(others, 0.0) {}

  /// `elapsed` [s]: since the last wake-up.
  void woke_up(double elapsed);
  void heard(std::size_t other) { seconds_[other] = 0; }
  /// The longest [s].
  double longest() const;
  /// Others that were silent for at least so many seconds, ascending.
  std::vector<std::size_t> of_at_least(double seconds) const;

 private:
  double tick_;
  std::vector<double> seconds_;
};

/// "rank 1 on nodeA, ranks 4 to 7 on nodeB": `ranks`, ascending, with each one's host of `hosts`, which has
/// one for every rank of the run; of more than eight such groups only the first eight.
std::string with_hosts(const std::vector<std::size_t>& ranks, const std::vector<std::string>& hosts);

/// When it is a rank's turn to tell of a loss that several may see, so that the first can end the run before
/// the next one speaks: root's is 0; that of the first other rank of a host is 1, of the first such host, or
/// 2; and that of all others 3.
int turn_to_speak(std::size_t rank, const std::vector<std::string>& hosts);

}  // namespace cosmo::core
