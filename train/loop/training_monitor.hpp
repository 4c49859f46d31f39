#pragma once

#include <algorithm>

#include "core/format/json.hpp"
#include "core/log.hpp"
#include "core/timer.hpp"
#include "train/log/mlperf_log.hpp"
#include "train/state/history.hpp"

namespace cosmo::train {

/// What is known about a training's speed beforehand.
struct TrainingSpeed {
  double flop_per_sample;  ///< useful flops per sample of a training step
  double peak;             ///< [flop/s] measured peak of all ranks together, the highest so far
};

/// Reports a training while it runs: a live line, one line per epoch, and MLPerf's events.
class TrainingMonitor {
 public:
  /// `samples`: number to be trained on in all epochs together. The logs must outlive this.
  TrainingMonitor(const core::Log& log, MlperfLog& mlperf, const TrainingSpeed& speed, std::int64_t samples);

  /// Begins epoch `epoch`, counted from 1.
  void begin_epoch(int epoch);
  /// Records a finished step on `samples` samples; `loss` is the sum over them.
  void step(int samples, double loss);
  /// Records another measurement of the peak: other programs on a host may have lowered an earlier one.
  void measured_peak(double rate) { speed_.peak = std::max(speed_.peak, rate); }
  /// Stops counting time until resume(), for work other than steps.
  void pause();
  void resume();
  void begin_validation();
  /// Ends the epoch after its validation. `error`: mean absolute error of labels.
  void end_epoch(const EpochMetrics& metrics, double error);

  /// [s] Time spent in steps so far.
  double seconds() const;
  /// Samples and flops per second in the steps so far, without validation and checkpoints.
  core::Json to_json() const;
  /// The same as text: "12.3 samples/s, 765 useful Gflop/s, 64 % of the measured peak of 1190 Gflop/s".
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
  double earlier_seconds_ = 0;  ///< time in steps before the last resume()
  std::int64_t samples_ = 0;    ///< number trained on so far
  std::int64_t epoch_samples_ = 0;
  double epoch_loss_ = 0;
};

}  // namespace cosmo::train
