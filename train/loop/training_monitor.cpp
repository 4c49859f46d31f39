#include "train/loop/training_monitor.hpp"

namespace cosmo::train {

TrainingMonitor::TrainingMonitor(const core::Log& log, MlperfLog& mlperf, const TrainingSpeed& speed,
                                 std::int64_t samples)
    : log_(log), mlperf_(mlperf), speed_(speed), progress_(log, "samples", samples) {}

void TrainingMonitor::begin_epoch(int epoch) {
  epoch_ = epoch;
  epoch_samples_ = 0;
  epoch_loss_ = 0;
  mlperf_.start("epoch", {{"epoch_num", epoch}});
  resume();
}

void TrainingMonitor::step(int samples, double loss) {
  samples_ += samples;
  epoch_samples_ += samples;
  epoch_loss_ += loss;
  if (!log_.shows_progress()) return;
  progress_.advance(samples, fmt::format("epoch {}, loss {:.4f}, {:.4g} Gflop/s, {:.0f} % of the peak",
                                         epoch_, epoch_loss_ / static_cast<double>(epoch_samples_),
                                         rate() / 1e9, 100 * rate() / speed_.peak));
}

void TrainingMonitor::pause() {
  earlier_seconds_ = seconds();
  training_ = false;
}

void TrainingMonitor::resume() {
  if (training_) return;
  since_resumed_.restart();
  training_ = true;
}

void TrainingMonitor::begin_validation() {
  pause();
  mlperf_.start("eval", {{"epoch_num", epoch_}});
}

void TrainingMonitor::end_epoch(const EpochMetrics& metrics, double error) {
  const core::Json metadata = {{"epoch_num", epoch_}};
  mlperf_.stop("eval", metadata);
  mlperf_.point("eval_error", error, metadata);
  mlperf_.point("eval_accuracy", -error, metadata);  // MLPerf's checker expects a rising one
  mlperf_.stop("epoch", metadata);
  progress_.remark(fmt::format("{}, {:.4g} samples/s, {:.4g} Gflop/s", train::describe(metrics),
                               samples_per_second(), rate() / 1e9));
}

double TrainingMonitor::seconds() const {
  return earlier_seconds_ + (training_ ? since_resumed_.seconds() : 0.0);
}

double TrainingMonitor::samples_per_second() const {
  return samples_ == 0 ? 0 : static_cast<double>(samples_) / seconds();
}

core::Json TrainingMonitor::to_json() const {
  return {{"samples_per_second", samples_per_second()},
          {"samples_per_s", samples_per_second()},  // its name up to 0.2, written until 0.5
          {"useful_gflops", rate() / 1e9},
          {"peak_gflops", speed_.peak / 1e9},
          {"fraction_of_peak", rate() / speed_.peak}};
}

std::string TrainingMonitor::describe() const {
  return fmt::format(
      "{:.4g} samples/s, {:.4g} useful Gflop/s, {:.0f} % of the measured peak of {:.4g} Gflop/s",
      samples_per_second(), rate() / 1e9, 100 * rate() / speed_.peak, speed_.peak / 1e9);
}

}  // namespace cosmo::train
