#pragma once

#include <cstddef>
#include <functional>

#include "core/communicator.hpp"

namespace cosmo::dataset {

/// Runs work(i) for i = 0 … size-1, item i on rank i % ranks, in rounds of one item a rank, so that the error
/// of the first failing item is everybody's, for any number of ranks. `work` must not communicate;
/// `after_round` may and gets the number of items in the round. Collective over comm.
void in_rounds(const core::Communicator& comm, std::size_t size, const std::function<void(std::size_t)>& work,
               const std::function<void(std::size_t)>& after_round);

}  // namespace cosmo::dataset
