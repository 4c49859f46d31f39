#include "core/parallel/silence.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace cosmo::core {

void Silence::woke_up(double elapsed) {
  for (double& seconds : seconds_) seconds += std::min(elapsed, tick_);
}

double Silence::longest() const { return *std::ranges::max_element(seconds_); }

std::vector<std::size_t> Silence::of_at_least(double seconds) const {
  std::vector<std::size_t> others;
  for (std::size_t other = 0; other < seconds_.size(); ++other) {
    if (seconds_[other] >= seconds) others.push_back(other);
  }
  return others;
}

std::string with_hosts(const std::vector<std::size_t>& ranks, const std::vector<std::string>& hosts) {
  constexpr std::size_t kMost = 8;
  std::vector<std::string> groups;
  for (std::size_t first = 0, next = 0; first < ranks.size(); first = next) {
    const std::size_t rank = ranks[first];
    const auto belongs = [&] {
      return next < ranks.size() && ranks[next] - rank == next - first && hosts[ranks[next]] == hosts[rank];
    };
    while (belongs()) ++next;
    const std::string numbers = next - first == 1 ? fmt::format("rank {}", rank)
                                                  : fmt::format("ranks {} to {}", rank, ranks[next - 1]);
    if (groups.size() == kMost) return fmt::format("{} and others", fmt::join(groups, ", "));
    groups.push_back(fmt::format("{} on {}", numbers, hosts[rank]));
  }
  return fmt::format("{}", fmt::join(groups, ", "));
}

int turn_to_speak(std::size_t rank, const std::vector<std::string>& hosts) {
  if (rank == 0) return 0;
  const auto end = hosts.begin() + static_cast<std::ptrdiff_t>(rank);
  const std::set<std::string> before(hosts.begin() + 1, end);
  return before.contains(hosts[rank]) ? 3 : std::min<int>(2, static_cast<int>(before.size()) + 1);
}

}  // namespace cosmo::core
