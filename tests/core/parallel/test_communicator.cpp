#include <catch2/catch.hpp>
#include <numeric>

#include "core/error.hpp"
#include "core/parallel/communicator.hpp"

using namespace cosmo::core;

TEST_CASE("collective calls deliver what their docstrings say") {
  const Communicator comm = Communicator::world();
  const int size = comm.size(), rank = comm.rank();
  CHECK(comm.sum(std::int64_t{rank}) == size * (size - 1) / 2);
  CHECK(comm.max(double(rank)) == size - 1);
  CHECK(comm.min(double(rank)) == 0);
  CHECK(comm.min(~std::uint64_t{0} - static_cast<std::uint64_t>(rank)) ==
        ~std::uint64_t{0} - static_cast<std::uint64_t>(size - 1));
  CHECK(comm.broadcast(std::string(rank == 0 ? "root" : "other word")) == "root");
  const auto words = comm.gather(std::string(static_cast<std::size_t>(rank), 'x'));
  for (int r = 0; r < size; ++r)
    CHECK(words[static_cast<std::size_t>(r)] == std::string(static_cast<std::size_t>(r), 'x'));

  // Rank r sends r + s + 1 values to rank s, each r * 100 + s.
  std::vector<int> send_counts(static_cast<std::size_t>(size));
  std::vector<int> send;
  for (int s = 0; s < size; ++s) {
    send_counts[static_cast<std::size_t>(s)] = rank + s + 1;
    send.insert(send.end(), static_cast<std::size_t>(rank + s + 1), rank * 100 + s);
  }
  const std::vector<int> recv_counts = comm.exchange_counts(send_counts);
  std::vector<int> recv(static_cast<std::size_t>(std::accumulate(recv_counts.begin(), recv_counts.end(), 0)));
  comm.all_to_all(send.data(), send_counts, recv.data(), recv_counts);
  std::vector<int> expected;
  for (int r = 0; r < size; ++r)
    expected.insert(expected.end(), static_cast<std::size_t>(r + rank + 1), r * 100 + rank);
  CHECK(recv == expected);
}

TEST_CASE("a failure of one rank becomes the same error on all") {
  const Communicator comm = Communicator::world();
  comm.agree([] {});
  try {
    comm.agree(
        [&] { ensure(comm.rank() != comm.size() - 1, Fault::format, "file {} is damaged.", comm.rank()); });
    FAIL("no rank threw");
  } catch (const Error& error) {
    CHECK(error.fault() == Fault::format);
    CHECK(error.agreed());
    CHECK(error.what() == "file " + std::to_string(comm.size() - 1) + " is damaged.");
  }
}
