#include <catch2/catch.hpp>

#include "core/parallel/silence.hpp"

using namespace cosmo::core;
using Others = std::vector<std::size_t>;

TEST_CASE("silence adds up until the other is heard") {
  Silence silence(2, 1);
  for (int wake_up = 0; wake_up < 5; ++wake_up) {
    silence.woke_up(0.5);
    silence.heard(1);
  }
  CHECK(silence.longest() == 2.5);
  CHECK(silence.of_at_least(2.5) == Others{0});
  CHECK(silence.of_at_least(2.6).empty());
  silence.heard(0);
  CHECK(silence.longest() == 0);
}

TEST_CASE("time in which the listener was stopped counts for one wake-up") {
  Silence silence(1, 1);
  silence.woke_up(3600);
  CHECK(silence.longest() == 1);
  silence.woke_up(1);
  CHECK(silence.of_at_least(2) == Others{0});
}

TEST_CASE("ranks are named with their hosts, neighbours on one host together") {
  const std::vector<std::string> hosts{"a", "a", "b", "b", "b", "a"};
  CHECK(with_hosts({1}, hosts) == "rank 1 on a");
  CHECK(with_hosts({1, 2, 3, 4}, hosts) == "rank 1 on a, ranks 2 to 4 on b");
  CHECK(with_hosts({0, 2, 4, 5}, hosts) == "rank 0 on a, rank 2 on b, rank 4 on b, rank 5 on a");
  Others many;
  for (std::size_t rank = 0; rank < 20; rank += 2) many.push_back(rank);
  CHECK(with_hosts(many, std::vector<std::string>(20, "c")).ends_with("rank 14 on c and others"));
}

TEST_CASE("of the ranks that see a loss, root reports it first, then one rank of each host") {
  const std::vector<std::string> hosts{"a", "a", "a", "b", "b", "c", "d", "e"};
  std::vector<int> turns;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) turns.push_back(turn_to_speak(rank, hosts));
  CHECK(turns == std::vector<int>{0, 1, 3, 2, 3, 2, 2, 2});
}
