#pragma once

#include <cstddef>
#include <functional>

#include "core/parallel/communicator.hpp"

namespace cosmo::core {

/// Runs work(i) for i = 0 … size-1, item i on rank i % ranks, in rounds of one item a rank, so that the error
/// of the first failing item is everybody's, for any number of ranks. `work` must not communicate;
/// `after_round` may, and gets the number of items that the round finished: also if others of it failed, not
/// if all did. Throws Error{stopped} between rounds if a rank was asked to stop. Collective over comm.
void in_rounds(const Communicator& comm, std::size_t size, const std::function<void(std::size_t)>& work,
               const std::function<void(std::size_t)>& after_round);

/// The same with item i on the ranks of group i % groups, which work on it together. `group` is this rank's:
/// groups are equally many consecutive ranks of comm each. `work` may communicate within the group, where
/// failures are agreed on; one that is not passes through at once, for nobody waits for the rest of its
/// group.
void in_rounds(const Communicator& comm, const Communicator& group, std::size_t size,
               const std::function<void(std::size_t)>& work,
               const std::function<void(std::size_t)>& after_round);

}  // namespace cosmo::core
