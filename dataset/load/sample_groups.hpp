#pragma once

#include <span>
#include <vector>

#include "core/parallel/communicator.hpp"

namespace cosmo::core {
class Options;
}

namespace cosmo::dataset {

/// The ranks of a run in groups, each of which works on the same samples; the ranks of a group are consecutive.
struct SampleGroups {
  /// Collective over `all_ranks`, which must outlive this and have a multiple of `ranks_per_sample` ranks.
  SampleGroups(const core::Communicator& all_ranks, int ranks_per_sample)
      : all(all_ranks),
        group(all.split(all.rank() / ranks_per_sample)),
        peers(all.split(all.rank() % ranks_per_sample)) {}

  /// Values of this rank's samples, for sums over all ranks: those of one rank of each group count.
  std::vector<double> once(std::span<const double> values) const {
    return group.is_root() ? std::vector(values.begin(), values.end()) : std::vector<double>(values.size());
  }

  const core::Communicator& all;
  core::Communicator group;  ///< ranks that work on the same samples
  core::Communicator
      peers;  ///< ranks with the same share of other samples, one of each group: rank() is the group's
};

/// Declares --ranks-per-sample; `more` is a clause of its help.
void declare_ranks_per_sample(core::Options& options, const char* more);

/// The number of ranks in a group. Throws Error{usage}, and Error{config} if it does not divide the number of ranks.
int read_ranks_per_sample(const core::Options& options, int ranks);

}  // namespace cosmo::dataset
