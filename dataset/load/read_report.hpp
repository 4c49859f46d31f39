#pragma once

#include <string>

#include "core/format/json.hpp"
#include "core/parallel/communicator.hpp"
#include "dataset/load/data_loader.hpp"

namespace cosmo::dataset {

/// Whether reading kept up with a training. Rates are means over ranks.
struct ReadReport {
  double seconds;       ///< of the training
  double waited;        ///< for data, of the rank that waited longest [s]
  std::uint64_t bytes;  ///< read from shards, all ranks
  double needed;    ///< by a rank that never waits: BW_min = b S / t, with b samples of S bytes in a step of
                    ///< time t [bytes/s]. Source: Mathuriya et al. 2018, eq. 1
  double measured;  ///< what its readers deliver if they never wait [bytes/s]

  double waited_share() const { return waited / seconds; }
  core::Json to_json() const;
  /// "waited for data 0.2 % of the time; …", a line.
  std::string describe() const;
};

/// What a rank read in so many seconds.
struct Reading {
  ReadStatistics statistics;
  double seconds;
};

/// Of a whole training, which took more than no time, and of its steps alone, which say what a rank needs.
/// Collective over comm. All are of this rank, with so many `readers`.
ReadReport report_reading(const core::Communicator& comm, const Reading& whole, const Reading& steps,
                          int readers);

}  // namespace cosmo::dataset
