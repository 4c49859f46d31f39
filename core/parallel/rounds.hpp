#pragma once

#include <cstddef>
#include <functional>

#include "core/parallel/communicator.hpp"

namespace cosmo::core {

/// Runs work(i) for i = 0 … size-1, item i on rank i % ranks, in rounds of one item per rank. Every rank
/// throws the error of the first failing item, for any number of ranks. `work` must not communicate;
/// `after_round` may. It receives the number of items that the round finished, even if others failed, and is
/// not called if all failed. Throws Error{stopped} between rounds if a rank was asked to stop. Collective
/// over comm.
void in_rounds(const Communicator& comm, std::size_t size, const std::function<void(std::size_t)>& work,
               const std::function<void(std::size_t)>& after_round);

/// The same with item i on the ranks of group i % groups, which work on it together. `group` is this rank's
/// group: each consists of the same number of consecutive ranks of comm. `work` may communicate within the
/// group, whose ranks agree on failures; a failure that is not agreed on is thrown at once, without waiting
/// for the rest of the group.
void in_rounds(const Communicator& comm, const Communicator& group, std::size_t size,
               const std::function<void(std::size_t)>& work,
               const std::function<void(std::size_t)>& after_round);

}  // namespace cosmo::core
