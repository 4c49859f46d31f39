#include "core/parallel/rounds.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "core/error.hpp"
#include "core/parallel/stop_signals.hpp"

namespace cosmo::core {

namespace {

/// The failure that `work` ends in, if any. A failure that the group has not agreed on is thrown.
std::optional<Error> outcome_of(const std::function<void()>& work, int ranks) {
  try {
    work();
  } catch (...) {
    const Error failure = current_error();
    if (ranks > 1 && !failure.agreed()) throw;
    return failure;
  }
  return std::nullopt;
}

void in_rounds_of(const Communicator& comm, int ranks_per_group, std::size_t size,
                  const std::function<void(std::size_t)>& work,
                  const std::function<void(std::size_t)>& after_round) {
  const auto groups = static_cast<std::size_t>(comm.size() / ranks_per_group);
  const auto mine = static_cast<std::size_t>(comm.rank() / ranks_per_group);
  for (std::size_t first = 0; first < size; first += groups) {
    std::optional<Error> failure;
    if (first + mine < size) failure = outcome_of([&] { work(first + mine); }, ranks_per_group);
    const std::int64_t ranks_failed = comm.sum(std::int64_t{failure.has_value()});
    const std::size_t finished =
        std::min(groups, size - first) - static_cast<std::size_t>(ranks_failed / ranks_per_group);
    if (finished > 0) after_round(finished);  // also before a failure ends the run
    comm.agree([&] {
      if (failure) throw *failure;
    });
    if (first + groups < size) stop_if_asked(comm);
  }
}

}  // namespace

void in_rounds(const Communicator& comm, std::size_t size, const std::function<void(std::size_t)>& work,
               const std::function<void(std::size_t)>& after_round) {
  in_rounds_of(comm, 1, size, work, after_round);
}

void in_rounds(const Communicator& comm, const Communicator& group, std::size_t size,
               const std::function<void(std::size_t)>& work,
               const std::function<void(std::size_t)>& after_round) {
  in_rounds_of(comm, group.size(), size, work, after_round);
}

}  // namespace cosmo::core
