#pragma once

#include <algorithm>

#include "core/format/json.hpp"
#include "core/log.hpp"
#include "core/timer.hpp"
#include "train/loop/mlperf_log.hpp"
#include "train/loop/validation.hpp"

namespace cosmo::train {

/// What is known beforehand of a training's speed.
struct TrainingSpeed {
  double flop_per_sample;  ///< useful ones, of a training step
  double peak;             ///< [flop/s] measured peak of all ranks together, the highest so far
};

/// What a training tells while it runs: a live line, a line an epoch, and MLPerf's events.
class TrainingMonitor {
 public:
  /// `samples`: to be trained on, all epochs together; the logs must outlive this.
  TrainingMonitor(const core::Log& log, MlperfLog& mlperf, const TrainingSpeed& speed, std::int64_t samples);

  /// Begins the epoch of this number, counted from 1.
  void begin_epoch(int epoch);
  /// A step on so many samples is done; `loss` is the sum over them.
  void step(int samples, double loss);
  /// The peak was measured again: what else runs on a host may have lowered it before.
  void measured_peak(double rate) { speed_.peak = std::max(speed_.peak, rate); }
  /// Other work than steps is done from here on, until resume().
  void pause();
  void resume();
  void begin_validation();
  /// The epoch and its validation are done.
  void end_epoch(const Validation& validation);

  /// [s] In steps so far.
  double seconds() const;
  /// Samples and flops a second of the steps so far, without validation and checkpoints.
  core::Json to_json() const;
  /// "12.3 samples/s, 765 useful Gflop/s, 64 % of the measured peak of 1190 Gflop/s".
  std::string describe() const;

 private:
  double samples_per_second() const;
  double rate() const { return samples_per_second() * speed_.flop_per_sample; }

  const core::Log& log_;
  MlperfLog& mlperf_;
  TrainingSpeed speed_;
  core::Progress progress_;
  int epoch_ = 0;
  core::Timer since_resumed_;
  bool training_ = false;
  double earlier_seconds_ = 0;  ///< in steps of earlier epochs
  std::int64_t samples_ = 0;    ///< trained on so far
  std::int64_t epoch_samples_ = 0;
  double epoch_loss_ = 0;
};

}  // namespace cosmo::train
