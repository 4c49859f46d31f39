#pragma once

#include <string>

#include "core/format/json.hpp"
#include "core/parallel/communicator.hpp"
#include "dataset/load/data_loader.hpp"

namespace cosmo::dataset {

/// Whether reading kept up with a training. Rates are means over ranks.
struct ReadReport {
  double seconds;       ///< duration of the training
  double waited;        ///< longest time that a rank waited for data [s]
  std::uint64_t bytes;  ///< read from shards, all ranks
  double needed;    ///< so that a rank never waits: BW_min = b S / t, with b samples of S bytes in a step of
                    ///< time t [bytes/s]. Source: Mathuriya et al. 2018, eq. 1
  double measured;  ///< what its readers deliver if they never wait [bytes/s]

  double waited_share() const { return waited / seconds; }
  core::Json to_json() const;
  /// "waited for data 0.2 % of the time; …", one line.
  std::string describe() const;
};

/// What a rank read, and in what time.
struct Reading {
  ReadStatistics statistics;
  double seconds;
};

/// Reports on a whole training, which must have taken some time; the rate that a rank needs follows from its
/// steps alone. Both readings are this rank's, which has `readers` readers. Collective over comm.
ReadReport report_reading(const core::Communicator& comm, const Reading& whole, const Reading& steps,
                          int readers);

}  // namespace cosmo::dataset
