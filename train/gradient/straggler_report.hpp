#pragma once

#include <cstdint>
#include <string>

#include "core/format/json.hpp"
#include "core/parallel/communicator.hpp"
#include "train/gradient/gradient_reducer.hpp"

namespace cosmo::train {

/// How a rank's training steps have spent their time since the program started.
struct RankTimes {
  std::int64_t steps = 0;
  double computing = 0;  ///< forward, loss, backward and optimizer [s]
  double exchanging =
      0;  ///< communication with the ranks that share its samples, waiting for them included [s]
  ReductionTimes reduction;
};

/// Smallest, mean and largest value over ranks.
struct Spread {
  double min, mean, max;
};

/// The rank that kept the others waiting, and the cost of reducing gradients: times of a mean step [s].
struct StragglerReport {
  int ranks;
  Spread computing;   ///< forward, loss, backward and optimizer
  Spread exchanging;  ///< planes of samples, with the ranks that share them
  Spread waiting;     ///< for ranks that were later
  Spread exposed;     ///< reducing gradients with nothing else going on
  double hidden;      ///< share of the reduction that overlaps with backward, mean over ranks
  int slowest;        ///< the rank that computed longest

  core::Json to_json() const;
  /// The report as one line, "a step computes 312 ms …".
  std::string describe() const;
};

/// Combines `times`, those of this rank, over all ranks. Collective over comm.
StragglerReport report_stragglers(const core::Communicator& comm, const RankTimes& times);

}  // namespace cosmo::train
