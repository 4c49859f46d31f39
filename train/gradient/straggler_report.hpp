#pragma once

#include <cstdint>
#include <string>

#include "core/format/json.hpp"
#include "core/parallel/communicator.hpp"
#include "train/gradient/gradient_reducer.hpp"

namespace cosmo::train {

/// Where the time of a rank's training steps went, since the program started.
struct RankTimes {
  std::int64_t steps = 0;
  double computing = 0;  ///< forward, loss, backward and optimizer [s]
  ReductionTimes reduction;
};

/// Smallest, mean and largest value over ranks.
struct Spread {
  double min, mean, max;
};

/// Who kept the others waiting, and what the reduction of gradients cost: times of a mean step [s].
struct StragglerReport {
  int ranks;
  Spread computing;  ///< forward, loss, backward and optimizer
  Spread waiting;    ///< for ranks that were later
  Spread exposed;    ///< reducing gradients, while nothing else was done
  double hidden;     ///< share of the reduction during which backward went on, mean over ranks
  int slowest;       ///< the rank that computed longest

  core::Json to_json() const;
  /// "a step computes 312 ms …", a line.
  std::string describe() const;
};

/// Collective over comm. `times` are of this rank.
StragglerReport report_stragglers(const core::Communicator& comm, const RankTimes& times);

}  // namespace cosmo::train
