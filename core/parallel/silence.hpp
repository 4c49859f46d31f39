#pragma once
// Which ranks have been silent for how long, and how that is reported.

#include <cstddef>
#include <string>
#include <vector>

namespace cosmo::core {

/// Measures how long others have not been heard from, in this process's own wake-ups: one that comes late,
/// because the process was stopped or its machine slept, counts no more than one in time.
class Silence {
 public:
  /// `tick` [s]: the longest time that a wake-up counts for.
  Silence(std::size_t others, double tick) : tick_(tick), seconds_(others, 0.0) {}

  /// `elapsed` [s]: time since the last wake-up.
  void woke_up(double elapsed);
  void heard(std::size_t other) { seconds_[other] = 0; }
  /// The longest silence [s].
  double longest() const;
  /// Others that were silent for at least `seconds`, in ascending order.
  std::vector<std::size_t> of_at_least(double seconds) const;

 private:
  double tick_;
  std::vector<double> seconds_;
};

/// "rank 1 on nodeA, ranks 4 to 7 on nodeB": `ranks`, in ascending order, with their hosts from `hosts`,
/// which has one entry for every rank of the run. Lists at most eight such groups.
std::string with_hosts(const std::vector<std::size_t>& ranks, const std::vector<std::string>& hosts);

/// The rank's turn to report a loss that several ranks may notice, so that the first can end the run before
/// the next one speaks. Root's turn is 0; that of the first rank on a host, not counting root, is 1 on the
/// first such host and 2 on the others; that of all other ranks is 3.
int turn_to_speak(std::size_t rank, const std::vector<std::string>& hosts);

}  // namespace cosmo::core
