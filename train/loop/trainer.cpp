#include "train/loop/trainer.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "train/gradient/gradient_clip.hpp"
#include "train/gradient/gradient_reducer.hpp"
#include "train/gradient/gradient_step.hpp"
#include "train/gradient/replica_check.hpp"
#include "train/gradient/step_loss.hpp"
#include "train/loop/timetable.hpp"
#include "train/plan/feature_measurement.hpp"

namespace cosmo::train {

namespace {

/// A rank's part in deciding when to save and when to stop.
class Watch {
 public:
  Watch(const TrainerConfig& config, const dataset::DataLoader& validation)
      : config_(config.interruptions),
        timetable_({config_.time_limit, config_.checkpoint_interval, config_.checkpoint_guess,
                    validation.steps_per_epoch() / static_cast<double>(config.micro_batches_per_step)},
                   config_.run_time.seconds()) {}

  void finished(Work work) { timetable_.finished(work, config_.run_time.seconds()); }
  /// This rank's wishes before it proceeds to `next`.
  Wishes before(Work next) const {
    const double now = config_.run_time.seconds();
    return {config_.stop_asked(), !timetable_.leaves_time_for(next, now), timetable_.checkpoint_is_due(now)};
  }

 private:
  const Interruptions& config_;
  Timetable timetable_;
};

std::optional<Ending> ending_of(const Wishes& wishes) {
  if (wishes.stop) return Ending::asked;
  return wishes.time_is_up ? std::optional(Ending::out_of_time) : std::nullopt;
}

}  // namespace

Ending train(const core::Communicator& comm, TrainingMonitor& monitor, const TrainerConfig& config,
             const TrainingData& data, TrainingState& state, const std::function<void()>& save) {
  auto& [network, optimizer, progress, times, average] = state;
  ensure_equal_replicas(comm, network.weights(), progress.step);
  GradientReducer reducer(comm, network.gradients(), config.micro_batches_per_step, config.wire);
  GradientStep gradient(comm, network, reducer,
                        {config.loss, static_cast<int>(data.validation.parameters.size()),
                         config.micro_batches_per_step, config.seed});
  Watch watch(config, data.validation.loader);
  const auto checkpoint = [&] {
    monitor.pause();
    save();
    watch.finished(Work::checkpoint);
  };
  const std::int64_t steps_per_epoch = data.loader.steps_per_epoch();
  StepLoss loss(data.reader);
  const auto start_epoch = [&](int epoch) {
    if (epoch == config.epochs) return;
    const std::int64_t first_step = std::max<std::int64_t>(0, state.progress.step - epoch * steps_per_epoch);
    data.loader.start_epoch(static_cast<std::uint32_t>(epoch), static_cast<std::uint32_t>(first_step));
  };
  start_epoch(progress.epoch);

  while (progress.epoch < config.epochs) {
    monitor.begin_epoch(progress.epoch + 1);
    while (const auto batch = data.loader.next()) {
      const core::Timer computing;
      const double summing = gradient.summing();
      gradient.take(*batch, progress.step, loss);
      times.computing += computing.seconds() - (gradient.summing() - summing);
      if (!batch->last_of_step) continue;
      reducer.finish();
      times.reduction = reducer.times();

      watch.finished(Work::step);
      const bool last = progress.step + 1 == (progress.epoch + 1) * steps_per_epoch;
      const Agreement step = agree(comm, loss.sum(), watch.before(last ? Work::validation : Work::step));
      if (!std::isfinite(step.loss)) loss.fail(comm, network, progress.step);
      const core::Timer updating;
      clip_gradient(network.gradients(), config.clip_norm);
      optimizer.step(progress.step++);
      if (average != nullptr) average->update(progress.step);
      times.computing += updating.seconds();
      progress.epoch_loss += step.loss;
      loss.reset();
      ++times.steps;
      monitor.step(batch->samples_in_step, step.loss);
      const std::optional<Ending> ending = ending_of(step.wishes);
      if (ending || step.wishes.save) checkpoint();
      if (ending) return *ending;
      monitor.resume();
    }
    ensure_equal_replicas(comm, network.weights(), progress.step);

    start_epoch(progress.epoch + 1);  // the next epoch reads its first batches in the meantime
    monitor.begin_validation();
    if (average != nullptr) average->swap();
    if (network.normalises()) measure_features(comm, network, *data.measured);
    Validation validation = validate(comm, config.loss, data.validation, network, data.baseline);
    if (average != nullptr) average->swap();
    watch.finished(Work::validation);
    EpochMetrics& metrics = validation.metrics;
    metrics.epoch = ++progress.epoch;
    metrics.step = progress.step;
    metrics.learning_rate = optimizer.learning_rate(progress.step - 1);
    metrics.train_loss = std::exchange(progress.epoch_loss, 0) / data.reader.size();
    progress.history.push_back(metrics);
    monitor.end_epoch(validation);
    checkpoint();
    if (progress.epoch == config.epochs) break;
    const std::optional<Ending> ending = ending_of(agree(comm, 0, watch.before(Work::step)).wishes);
    if (ending) return *ending;
  }
  return Ending::complete;
}

}  // namespace cosmo::train
