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
#include "train/prepare/feature_measurement.hpp"

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
  /// This rank's votes before it proceeds to `next`.
  Votes before(Work next) const {
    const double now = config_.run_time.seconds();
    return {config_.stop_asked(), !timetable_.leaves_time_for(next, now), timetable_.checkpoint_is_due(now)};
  }

 private:
  const Interruptions& config_;
  Timetable timetable_;
};

std::optional<Ending> ending_of(const Votes& votes) {
  if (votes.stop) return Ending::asked;
  return votes.time_is_up ? std::optional(Ending::out_of_time) : std::nullopt;
}

/// Measures a rank's steps from beside them.
class StepClock {
 public:
  StepClock(RankTimes& times, const nn::Network& network, const GradientStep& gradient,
            const GradientReducer& reducer)
      : times_(times), network_(network), gradient_(gradient), reducer_(reducer) {}

  /// Runs `work`, whose time counts as computing, but for its communication.
  template <class Function>
  void compute(const Function& work) {
    const core::Timer timer;
    const double summing = gradient_.summing(), exchanging = network_.exchanging();
    work();
    const double exchanged = network_.exchanging() - exchanging;
    times_.exchanging += exchanged;
    times_.computing += timer.seconds() - (gradient_.summing() - summing) - exchanged;
  }
  void finished_step() {
    times_.reduction = reducer_.times();
    ++times_.steps;
  }

 private:
  RankTimes& times_;
  const nn::Network& network_;
  const GradientStep& gradient_;
  const GradientReducer& reducer_;
};

/// A training from its first step in this run to its last.
class EpochLoop {
 public:
  EpochLoop(const dataset::SampleGroups& ranks, TrainingMonitor& monitor, const TrainerConfig& config,
            const TrainingData& data, TrainingState& state, const std::function<void()>& save)
      : ranks_(ranks),
        monitor_(monitor),
        config_(config),
        data_(data),
        state_(state),
        save_(save),
        reducer_(ranks.all, state.network.gradients(), config.micro_batches_per_step, config.wire,
                 config.order, ranks.group.size()),
        gradient_(ranks.peers, state.network, reducer_,
                  {config.output, config.micro_batches_per_step, config.seed}),
        loss_(data.reader, data.loader.micro_batch()),
        clock_(state.times, state.network, gradient_, reducer_),
        watch_(config, data.validation.loader) {}

  Ending run() {
    ensure_equal_replicas(ranks_.all, state_.network.weights(), progress_.step);
    start_loading(progress_.epoch);
    while (!config_.goal.is_reached(progress_)) {
      monitor_.begin_epoch(progress_.epoch + 1);
      while (const auto batch = data_.loader.next()) {
        clock_.compute([&] { gradient_.take(*batch, progress_.step, loss_); });
        if (!batch->last_of_step) continue;
        if (const auto ending = finish_step(batch->samples_in_step)) return *ending;
      }
      if (const auto ending = finish_epoch()) return *ending;
    }
    return Ending::complete;
  }

 private:
  /// Sums the gradients over ranks and updates the weights; saves the state if it is time to.
  std::optional<Ending> finish_step(int samples) {
    reducer_.finish();
    watch_.finished(Work::step);
    const bool last =
        progress_.step + 1 == (progress_.epoch + 1) * std::int64_t{data_.loader.steps_per_epoch()};
    const Agreement step =
        agree(ranks_.all, own_losses(), watch_.before(last ? Work::validation : Work::step));
    if (!std::isfinite(step.loss)) loss_.fail(ranks_.all, state_.network, progress_.step);
    clock_.compute([&] { update_weights(); });
    clock_.finished_step();
    progress_.epoch_loss += step.loss;
    loss_.reset();
    monitor_.step(samples, step.loss);
    const std::optional<Ending> ending = ending_of(step.votes);
    if (ending || step.votes.save) save();
    if (!ending) monitor_.resume();
    return ending;
  }

  /// This rank's part of the losses: those of whole samples count once in a group.
  std::vector<double> own_losses() const {
    const std::span<const double> losses = loss_.losses();
    return state_.network.cuts_output() ? std::vector(losses.begin(), losses.end()) : ranks_.once(losses);
  }

  void update_weights() {
    clip_gradient(state_.network.gradients(), config_.clip_norm);
    state_.optimizer.step(progress_.step++);
    if (state_.average != nullptr) state_.average->update(progress_.step);
  }

  /// Predicts the validation split and saves the state, while the next epoch's first batches are read.
  std::optional<Ending> finish_epoch() {
    ensure_equal_replicas(ranks_.all, state_.network.weights(), progress_.step);
    start_loading(progress_.epoch + 1);
    monitor_.begin_validation();
    const Evaluation evaluation = evaluate_average();
    watch_.finished(Work::validation);
    progress_.history.push_back({++progress_.epoch, progress_.step,
                                 state_.optimizer.learning_rate(progress_.step - 1),
                                 std::exchange(progress_.epoch_loss, 0) / data_.reader.size(),
                                 evaluation.loss, evaluation.columns, evaluation.loss_alone});
    monitor_.end_epoch(progress_.history.back(), evaluation.mean_absolute_error);
    save();
    if (config_.goal.is_reached(progress_)) return std::nullopt;
    return ending_of(agree(ranks_.all, {}, watch_.before(Work::step)).votes);
  }

  /// With the average of the weights in place of the weights, if there is one.
  Evaluation evaluate_average() {
    if (state_.average != nullptr) state_.average->swap();
    if (state_.network.normalises()) measure_features(ranks_.peers, state_.network, *data_.measured);
    const core::Communicator& ranks = state_.network.cuts_output() ? ranks_.all : ranks_.peers;
    Evaluation evaluation = evaluate(ranks, data_.validation, state_.network, data_.evaluator);
    if (state_.average != nullptr) state_.average->swap();
    return evaluation;
  }

  void start_loading(int epoch) {
    if (epoch == config_.goal.epochs) return;
    const std::int64_t done = progress_.step - epoch * std::int64_t{data_.loader.steps_per_epoch()};
    data_.loader.start_epoch(static_cast<std::uint32_t>(epoch),
                             static_cast<std::uint32_t>(std::max<std::int64_t>(0, done)));
  }

  void save() {
    monitor_.pause();
    save_();
    watch_.finished(Work::checkpoint);
  }

  const dataset::SampleGroups& ranks_;
  TrainingMonitor& monitor_;
  const TrainerConfig& config_;
  const TrainingData& data_;
  TrainingState& state_;
  TrainingProgress& progress_ = state_.progress;
  const std::function<void()>& save_;
  GradientReducer reducer_;
  GradientStep gradient_;
  StepLoss loss_;
  StepClock clock_;
  Watch watch_;
};

}  // namespace

Ending train(const dataset::SampleGroups& ranks, TrainingMonitor& monitor, const TrainerConfig& config,
             const TrainingData& data, TrainingState& state, const std::function<void()>& save) {
  return EpochLoop(ranks, monitor, config, data, state, save).run();
}

}  // namespace cosmo::train
