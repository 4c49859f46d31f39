#include <algorithm>
#include <catch2/catch.hpp>
#include <csignal>
#include <vector>

#include "core/error.hpp"
#include "core/parallel/rounds.hpp"
#include "core/parallel/stop_signals.hpp"
#include "tests/support/expect_error.hpp"

using namespace cosmo::core;

TEST_CASE("groups of ranks share the items, each worked on by one whole group") {
  const Communicator comm = Communicator::world();
  for (const int ranks : {1, comm.size()}) {
    const Communicator group = comm.split(comm.rank() / ranks);
    REQUIRE(group.size() == ranks);
    CHECK(group.rank() == comm.rank() % ranks);
    std::vector<std::int64_t> workers(7, 0);
    std::size_t seen = 0;
    in_rounds(
        comm, group, workers.size(),
        [&](std::size_t i) {
          CHECK(static_cast<int>(i) % (comm.size() / ranks) == comm.rank() / ranks);
          workers[i] = group.sum(std::int64_t{1});
        },
        [&](std::size_t items) {
          comm.barrier();
          seen += items;
        });
    CHECK(seen == workers.size());
    comm.sum(std::span<std::int64_t>(workers));
    CHECK(workers == std::vector<std::int64_t>(7, ranks * ranks));
  }
}

TEST_CASE("a failure ends the rounds on all ranks with the first item's error, and counts finished items") {
  const Communicator comm = Communicator::world();
  const Communicator group = comm.split(comm.rank());
  int done = 0, mine = -1;
  std::vector<std::int64_t> noted(8, 0);
  expect_error(Fault::numeric, "item 4", [&] {
    in_rounds(
        comm, group, 8,
        [&](std::size_t i) {
          group.agree([&] { ensure(i != 4 && i != 5, Fault::numeric, "item {} is bad", i); });
          mine = static_cast<int>(i);
        },
        [&](std::size_t items) {
          if (mine >= 0) noted[static_cast<std::size_t>(mine)] = 1;
          mine = -1;
          done += static_cast<int>(items);
        });
  });
  comm.sum(std::span<std::int64_t>(noted));
  CHECK(std::count(noted.begin(), noted.end(), 1) == done);
  // The round of item 4 is, for 1 to 3 ranks, 4, 4 to 5 and 3 to 5.
  CHECK(noted == std::vector<std::int64_t>{1, 1, 1, 1, 0, 0, 0, 0});
}

TEST_CASE("a failure that only a part of a group sees does not wait for the others") {
  const Communicator comm = Communicator::world();
  if (comm.size() == 1) return;
  const Communicator group = comm.split(0);
  // It occurs on every rank here, so that none is left waiting; in a tool it ends in MPI_Abort.
  expect_error(Fault::io, "alone", [&] {
    in_rounds(
        comm, group, 1, [](std::size_t) { fail(Fault::io, "alone"); }, [](std::size_t) { FAIL("after"); });
  });
}

TEST_CASE("a request to stop on any rank ends the rounds between two of them") {
  const Communicator comm = Communicator::world();
  const auto ranks = static_cast<std::size_t>(comm.size());
  for (const std::size_t items : {2 * ranks, 3 * ranks}) {  // rounds after the first: 1 and 2
    remember_stop_signals();
    std::size_t done = 0;
    const auto run = [&] {
      in_rounds(
          comm, items,
          [&](std::size_t i) {
            if (i + 1 == 2 * ranks) std::raise(SIGTERM);
          },
          [&](std::size_t finished) { done += finished; });
    };
    if (items == 2 * ranks) {
      run();  // what is done is done
    } else {
      expect_error(Fault::stopped, "rerun the same command", run);
    }
    CHECK(done == 2 * ranks);
    remember_stop_signals();  // forgets it
    obey_stop_signals();
  }
}
