#include "train/tool/training.hpp"

#include <utility>

#include "core/parallel/stop_signals.hpp"
#include "dataset/load/read_report.hpp"
#include "dataset/load/staging.hpp"
#include "train/benchmark/peak.hpp"
#include "train/gradient/replica_check.hpp"
#include "train/gradient/straggler_report.hpp"
#include "train/plan/training_memory.hpp"
#include "train/posterior/fit_field_posterior.hpp"
#include "train/posterior/fit_posterior.hpp"
#include "train/prepare/baselines.hpp"
#include "train/prepare/input_range.hpp"
#include "train/prepare/label_spread.hpp"
#include "train/prepare/network_baseline.hpp"
#include "train/tool/training_report.hpp"

namespace cosmo::train {

namespace {

constexpr double kSavedBytesPerSecond = 100e6;  ///< a guess for a slow disk, until one has been saved

}  // namespace

Training::Training(const TrainingSetting& setting, const Task& task, ModelDirectory& directory)
    : setting_(setting),
      run_(setting.run),
      task_(task),
      plan_(task.plan),
      directory_(directory),
      share_(task.plan.batching.cut.share(setting.ranks.group)) {
  open_log();
  open_data();
  const dataset::VoxelScale scale = scale_of(task_.data, plan_.objective.voxels);
  directory_.note_range([&] { return measure_input_range(run_.comm, *splits_.training, scale); });
  if (!plan_.objective.output.is_field()) prepare_for_labels(scale);
  evaluator_ = make_evaluator(plan_.objective.output, *validation_, baseline_ ? &*baseline_ : nullptr);
  make_learner();
  start();
  const TrainingSpeed speed{static_cast<double>(learner_->network.census().useful_flop()), measure_peak()};
  monitor_.emplace(run_.log, *log_, speed, samples_to_train(plan_, learner_->state.progress, splits_));
}

core::Report Training::run() {
  TrainingState& state = learner_->state;
  if (plan_.goal().is_reached(state.progress))
    save();  // it was stopped, or a file was lost, after the last epoch
  const core::Timer training_time;
  const Ending ending =
      train(setting_.ranks, *monitor_, trainer_config(),
            {*splits_.training, *splits_.training_loader,
             splits_.measured_loader ? &*splits_.measured_loader : nullptr, *validation_, *evaluator_},
            state, [this] { save(); });
  const std::vector<EpochMetrics>& history = state.progress.history;
  log_->stop_run(ending == Ending::complete &&
                 (!plan_.limits.until || (!history.empty() && plan_.goal().found_in(history.back()))));
  return report(ending, training_time.seconds());
}

/// The log begins with the settings.
void Training::open_log() {
  run_.comm.agree([&] { log_.emplace(task_.mllog); });
  log_->start("init");
  const bool first_of_node = run_.comm.node().rank() == 0;
  log_settings(
      *log_, plan_, task_.data,
      {run_.facts.at("host").get<std::string>(), run_.comm.size(), run_.comm.sum(first_of_node ? 1 : 0)});
  log_->stop("init");
  log_->start("run");
}

/// Copies the shards to --stage, if it is given, and opens them.
void Training::open_data() {
  std::filesystem::path directory = plan_.data;
  if (run_.options.given("stage")) {
    log_->start("staging");
    directory = dataset::stage_shards(run_.comm, run_.log, plan_.data, task_.data,
                                      {dataset::Split::train, dataset::Split::validation},
                                      run_.options.text("stage"));
    log_->stop("staging");
  }
  open_splits(setting_.ranks, plan_, directory, task_.data, setting_.loaders, splits_);
  validation_.emplace(
      dataset::SplitToPredict{*splits_.validation, *splits_.validation_loader, task_.data.spec.parameters});
}

/// Regressions to compare a network of parameters with, or to mix it with.
void Training::prepare_for_labels(const dataset::VoxelScale& scale) {
  note_labels();
  const auto& learned = directory_.note_baselines(
      [&] { return measure_baselines(run_.comm, run_.log, *splits_.training, scale); });
  if (!plan_.network.spec.baseline.empty())
    baseline_ =
        prepare_baseline(run_.comm, run_.log, directory_.output(), learned, *splits_.validation, scale);
}

/// Records how the labels are spread, and warns of those that are not.
void Training::note_labels() {
  const core::ParameterSpace& parameters = task_.data.spec.parameters;
  const nn::LabelSpread spread = measure_label_spread(*splits_.training, *splits_.validation, parameters);
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    if (spread.standard_deviation[p] == 0)
      run_.log.warn(
          "{} is the same in all training samples: there is nothing to learn of it, and its errors are over the deviation "
          "of labels spread evenly over its range.",
          parameters.names[p]);
  }
  directory_.note_labels(spread);
}

void Training::make_learner() {
  learner_.emplace(plan_, setting_.arithmetic, splits_.training_loader->steps_per_epoch(),
                   share_ ? &*share_ : nullptr);
  const std::vector<nn::OperationRecord> operations = learner_->network.operations();
  run_.comm.agree([&] { ensure_equal_kernels(setting_.ranks.peers, operations); });
  directory_.note_filtered(nn::filtered_phases(operations));
  announce(run_.log, operations);
  announce_unfiltered(run_.log, plan_.formats.convolution.value, plan_.network.spec,
                      learner_->network.census());
}

/// Sets the weights: those of the last checkpoint, of a pretrained model, or new ones.
void Training::start() {
  const core::FileRecord* checkpoint = directory_.last_checkpoint();
  const std::int64_t steps_per_epoch = splits_.training_loader->steps_per_epoch();
  run_.comm.agree([&] {
    if (checkpoint != nullptr)
      learner_->resume(plan_, *checkpoint, steps_per_epoch);
    else
      learner_->begin(plan_, task_.pretrained ? &*task_.pretrained : nullptr);
  });
  if (checkpoint != nullptr)
    run_.log.info("continuing after {}", train::describe(learner_->state.progress, steps_per_epoch));
}

TrainerConfig Training::trainer_config() const {
  const double checkpoint_guess =
      static_cast<double>(checkpoint_bytes(plan_, learner_->network.census())) / kSavedBytesPerSecond;
  return {plan_.goal(),
          plan_.objective.output,
          plan_.network.seed,
          plan_.batching.micro_batches_per_step(run_.comm.size()),
          plan_.formats.wire,
          plan_.batching.order,
          plan_.method.clip_norm,
          {&core::stop_received, setting_.run_time, plan_.limits.time, plan_.limits.checkpoint_interval,
           checkpoint_guess}};
}

/// The peak of all ranks together [flop/s].
double Training::measure_peak() {
  peak_age_.restart();
  return run_.comm.sum(train::measure_peak(run_.threads, plan_.formats.precision.value).rate);
}

void Training::save() {
  constexpr double kPeakInterval = 10;  // [s] Small trainings save more often than that.
  if (run_.comm.max(peak_age_.seconds()) > kPeakInterval) monitor_->measured_peak(measure_peak());
  core::Json facts = run_.facts;
  facts["training"] = monitor_->to_json();
  directory_.save(learner_->state, plan_.goal(), facts, [this] { add_posterior(); });
}

/// Fits the posterior of the finished model. Where it cannot be fitted, the model goes without.
void Training::add_posterior() {
  if (directory_.model().diverged()) return;
  const dataset::VoxelTransform transform = plan_.objective.transform(task_.data);
  if (nn::takes_field_posterior(directory_.model())) {
    if (auto fitted =
            fit_field_posterior(run_.comm, run_.log, {directory_.output().path(), directory_.model()},
                                {*splits_.validation, transform, task_.data.target_map()}))
      return directory_.note_field_posterior(std::move(*fitted));
    return run_.log.warn("No posterior of modes was fitted: the validation universes have no waves.");
  }
  if (!nn::takes_posterior(plan_.objective.output)) return;
  FittedPosterior fitted = fit_posterior(
      run_.comm, run_.log, {{directory_.output().path(), directory_.model()}},
      {*splits_.training, *splits_.validation, transform, scale_of(task_.data, plan_.objective.voxels)});
  if (!fitted.obstacle.empty()) {
    run_.log.warn("No posterior was fitted, and error bars are rms errors on the validation universes: {}",
                  fitted.obstacle);
    return;
  }
  directory_.output().add(nn::kPosteriorFile,
                          [&](const auto& path) { nn::write_posterior(path, *fitted.posterior); });
  directory_.note_posterior(fitted.facts);
}

/// `seconds`: time of the training without what came before it.
core::Report Training::report(Ending ending, double seconds) {
  const TrainingProgress& progress = learner_->state.progress;
  const dataset::ReadReport reading =
      dataset::report_reading(run_.comm, {splits_.statistics(), seconds},
                              {splits_.training_loader->statistics(), monitor_->seconds()}, task_.readers);
  const StragglerReport stragglers = report_stragglers(run_.comm, learner_->state.times);
  return report_of(plan_, directory_.model(),
                   {ending, setting_.run_time.seconds(), progress, directory_.best_kept(progress), *monitor_,
                    reading, stragglers});
}

}  // namespace cosmo::train
