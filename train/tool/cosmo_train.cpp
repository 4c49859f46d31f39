#include "train/tool/cosmo_train.hpp"

#include <algorithm>
#include <memory>
#include <optional>

#include "core/error.hpp"
#include "core/parallel/stop_signals.hpp"
#include "core/run/stage.hpp"
#include "core/timer.hpp"
#include "dataset/load/staging.hpp"
#include "nn/summary.hpp"
#include "train/benchmark/peak.hpp"
#include "train/gradient/replica_check.hpp"
#include "train/loop/learner.hpp"
#include "train/loop/trainer.hpp"
#include "train/plan/pretrained.hpp"
#include "train/plan/training_data.hpp"
#include "train/plan/training_memory.hpp"
#include "train/plan/training_options.hpp"
#include "train/prepare/input_range.hpp"
#include "train/prepare/network_baseline.hpp"
#include "train/state/model_directory.hpp"
#include "train/tool/benchmark_command.hpp"
#include "train/tool/training_report.hpp"

namespace {

using namespace cosmo;
using core::Fault;
using core::Json;

void declare(core::Options& options) {
  train::declare_training(options);
  options.begin_group("Data and logs");
  dataset::declare_allow_leak(options);
  options.add("readers N", "1", "threads per rank that read ahead of the training; 0: none");
  options.add("stage DIR", std::nullopt,
              "directory on a fast local disk; each node copies the shards there first and reads them there");
  options.add(
      "mllog FILE", std::nullopt,
      "file for MLPerf's log of this run, outside its directories; an earlier log is replaced [none]");
  train::declare_benchmark(options);
}

/// The training to run.
struct Task {
  dataset::DatasetManifest data;
  train::TrainingPlan plan;
  core::Request request;
  std::optional<train::Pretrained> pretrained;
  int readers = 1;
  std::string mllog;  ///< path of the MLPerf log; empty for none, and on all ranks but one
};

/// The directories given by the options in `names`.
std::vector<train::RunDirectory> directories_of(const core::Options& options,
                                                std::initializer_list<const char*> names) {
  std::vector<train::RunDirectory> directories;
  for (const char* name : names) {
    if (options.given(name)) directories.push_back({name, options.text(name)});
  }
  return directories;
}

/// Throws Error if the MLPerf log would destroy something or cannot be written.
std::string read_mllog(const core::Invocation& run) {
  if (!run.comm.is_root() || !run.options.given("mllog")) return "";
  train::check_log_path(run.options.text("mllog"), directories_of(run.options, {"data", "output", "stage"}));
  return run.options.text("mllog");
}

/// Throws Error if shards cannot be staged.
void check_stage(const core::Options& options, const dataset::DatasetManifest& data) {
  if (!options.given("stage")) return;
  train::ensure_outside("stage", options.text("stage"), directories_of(options, {"data", "output"}));
  dataset::check_stage(options.text("stage"), data);
}

/// Collective.
Task read_task(const core::Invocation& run) {
  Task task;
  run.comm.agree([&] {
    task.mllog = read_mllog(run);
    task.readers = static_cast<int>(run.options.integer("readers", 0, 64));
    task.data = dataset::load_dataset_manifest(run.options.text("data"));
    dataset::refuse_leak(task.data.leak(), run.options.text("data"), run.options.flag("allow-leak"));
    task.plan = train::read_training_plan(run.options, task.data, run.comm.size());
    check_stage(run.options, task.data);
  });
  run.comm.agree([&] {
    task.request = train::request_of(task.plan, task.data);
    if (!run.options.given("init-from")) return;
    task.pretrained = train::load_pretrained(run.options.text("init-from"), task.plan, task.data,
                                             run.options.flag("allow-leak"));
    const nn::ModelManifest& model = task.pretrained->model;
    task.request.inputs.push_back(
        core::input_record(task.pretrained->directory, model.base, task.plan.directory));
    task.request.config["init_from"] = model.best().sha256;
  });
  return task;
}

core::Overwrite read_overwrite(const core::Options& options) {
  core::Overwrite overwrite{.force = options.flag("force")};
  overwrite.remedy = "--resume to continue it to more --epochs with all else equal, or --force to replace it";
  if (options.flag("resume")) overwrite.extendable = {"epochs"};
  overwrite.precious = train::kCheckpointPrefix;
  return overwrite;
}

nn::ModelManifest manifest_of(const Task& task) {
  const auto& [data, plan, request, pretrained, readers, mllog] = task;
  const dataset::VoxelTransform transform = dataset::find_voxel_transform(plan.voxels, data.scale());
  nn::ModelManifest model{};
  model.network = plan.network;
  if (plan.average > 0) model.weights = train::WeightAverage::kGroup;
  model.precision = plan.precision.name;
  model.input = {plan.input, data.spec.redshifts, data.spec.voxel_size(), data.spec.line_of_sight};
  model.parameters = data.spec.parameters;
  model.output = plan.output;
  model.epochs = plan.epochs;
  model.choice_epochs = plan.choice_epochs;
  model.normalisation = {transform.name, transform.offset, transform.scale, data.spec.mean_count};
  model.validation.universes = static_cast<int>(data.split(dataset::Split::validation).simulations.size());
  model.validation.subvolumes = static_cast<int>(data.subvolumes);
  model.seeds = {data.split(dataset::Split::train).seeds, data.split(dataset::Split::validation).seeds};
  if (pretrained) {  // universes that the pretrained model has seen count, too
    const nn::SeenSeeds& earlier = pretrained->model.seeds;
    model.seeds.train.insert(model.seeds.train.end(), earlier.train.begin(), earlier.train.end());
    model.seeds.validation.insert(model.seeds.validation.end(), earlier.validation.begin(),
                                  earlier.validation.end());
  }
  return model;
}

/// Copies the shards to --stage, if it is given; returns the directory to read them from. Collective.
std::filesystem::path stage(const core::Invocation& run, const Task& task, train::MlperfLog& mlperf) {
  if (!run.options.given("stage")) return task.plan.data;
  mlperf.start("staging");
  std::filesystem::path staged =
      dataset::stage_shards(run.comm, run.log, task.plan.data, task.data,
                            {dataset::Split::train, dataset::Split::validation}, run.options.text("stage"));
  mlperf.stop("staging");
  return staged;
}

constexpr double kSavedBytesPerSecond = 100e6;  ///< a guess for a slow disk, until one has been saved

/// Sets the learner's weights: those of the last checkpoint, of a pretrained model, or new ones. Collective.
void start(const core::Invocation& run, const Task& task, const core::FileRecord* checkpoint,
           std::int64_t steps_per_epoch, train::Learner& learner) {
  run.comm.agree([&] {
    if (checkpoint != nullptr)
      learner.resume(task.plan, *checkpoint, steps_per_epoch);
    else
      learner.begin(task.plan, task.pretrained ? &*task.pretrained : nullptr);
  });
  if (checkpoint != nullptr)
    run.log.info("continuing after {}", train::describe(learner.state.progress, steps_per_epoch));
}

/// The log, with the settings. Collective.
void open_log(const core::Invocation& run, const Task& task, std::optional<train::MlperfLog>& mlperf) {
  run.comm.agree([&] { mlperf.emplace(task.mllog); });
  mlperf->start("init");
  train::log_settings(*mlperf, task.plan, task.data, run.comm.size(),
                      run.facts.at("host").get<std::string>());
  mlperf->stop("init");
  mlperf->start("run");
}

train::TrainerConfig trainer_config(const core::Invocation& run, const train::TrainingPlan& plan,
                                    const nn::NetworkCensus& census, const core::Timer& run_time) {
  const double checkpoint_guess =
      static_cast<double>(train::checkpoint_bytes(plan, census)) / kSavedBytesPerSecond;
  return {plan.epochs,
          plan.output,
          plan.seed,
          plan.micro_batches_per_step(run.comm.size()),
          plan.wire,
          plan.order,
          plan.clip_norm,
          {&core::stop_received, run_time, plan.time_limit, plan.checkpoint_interval, checkpoint_guess}};
}

/// Does the planned training that is not done yet, and saves it. Collective.
core::Report train_on(const core::Invocation& run, const dataset::SampleGroups& ranks, const Task& task,
                      const nn::Arithmetic& arithmetic, const core::Timer& run_time,
                      const train::LoaderConfigs& loaders, train::ModelDirectory& directory) {
  const train::TrainingPlan& plan = task.plan;
  std::optional<train::MlperfLog> mlperf;
  open_log(run, task, mlperf);
  train::Splits splits;
  train::open_splits(ranks, plan, stage(run, task, *mlperf), task.data, loaders, splits);
  directory.note_range(
      [&] { return train::measure_input_range(run.comm, *splits.training, task.data.scale()); });
  std::optional<dataset::BaselineLabels> baseline;
  if (!plan.network.baseline.empty())
    baseline = train::prepare_baseline(run.comm, run.log, directory.output(), *splits.training,
                                       *splits.validation, task.data.scale());
  const std::int64_t steps_per_epoch = splits.training_loader->steps_per_epoch();
  const std::optional<nn::Share> share = plan.cut.share(ranks.group);
  train::Learner learner(plan, arithmetic, steps_per_epoch, share ? &*share : nullptr);
  const std::vector<nn::OperationRecord> operations = learner.network.operations();
  run.comm.agree([&] { train::ensure_equal_kernels(ranks.peers, operations); });
  directory.note_filtered(nn::filtered_phases(operations));
  train::announce(run.log, operations);
  train::announce_unfiltered(run.log, plan.convolution.value, plan.network, learner.network.census());
  start(run, task, directory.last_checkpoint(), steps_per_epoch, learner);
  train::TrainingState& state = learner.state;
  const auto peak = [&] { return run.comm.sum(train::measure_peak(run.threads, plan.precision.value).rate); };
  const nn::NetworkCensus& census = learner.network.census();
  const train::TrainingSpeed speed{static_cast<double>(census.useful_flop()), peak()};
  train::TrainingMonitor monitor(run.log, *mlperf, speed, samples_to_train(plan, state.progress, splits));
  const auto save = [&] {
    monitor.measured_peak(peak());
    Json facts = run.facts;
    facts["training"] = monitor.to_json();
    directory.save(state, plan.epochs, facts);
  };
  if (state.progress.epoch == plan.epochs)
    save();  // it was stopped, or a file was lost, after the last epoch

  const dataset::SplitToPredict validation{*splits.validation, *splits.validation_loader,
                                           task.data.spec.parameters};
  const auto evaluator = train::make_evaluator(plan.output, validation, baseline ? &*baseline : nullptr);
  const core::Timer training_time;
  const train::Ending ending =
      train::train(ranks, monitor, trainer_config(run, plan, census, run_time),
                   {*splits.training, *splits.training_loader,
                    splits.measured_loader ? &*splits.measured_loader : nullptr, validation, *evaluator},
                   state, save);
  mlperf->stop_run(ending == train::Ending::complete);
  const dataset::ReadReport reading =
      dataset::report_reading(run.comm, {splits.statistics(), training_time.seconds()},
                              {splits.training_loader->statistics(), monitor.seconds()}, task.readers);
  const train::StragglerReport stragglers = train::report_stragglers(run.comm, state.times);
  return train::report_of(plan, {ending, run_time.seconds(), state.progress,
                                 directory.best_kept(state.progress), monitor, reading, stragglers});
}

class TrainingStage : public core::Stage {
 public:
  explicit TrainingStage(const core::Invocation& invocation)
      : Stage(invocation),
        task_(read_task(run)),
        census_(nn::take_census(task_.plan.network, task_.plan.input, task_.plan.output.values())),
        ranks_(run.comm, task_.plan.cut.ranks_per_sample),
        loaders_(train::loaders_of(ranks_, task_.plan, task_.data, task_.readers)),
        arithmetic_(task_.plan.arithmetic) {
    request = task_.request;
    overwrite = read_overwrite(run.options);
  }

  void check(const core::Manifest& there) override {
    core::ensure(!run.options.flag("resume") || train::last_checkpoint(there.files) != nullptr, Fault::config,
                 "{} holds no training to --resume: leave the option out to begin one.", target);
    arithmetic_.filtered =
        train::kept_filtered(target, there, task_.plan.arithmetic.filtered, task_.plan.network, census_);
  }

  /// Builds the network's primitives.
  core::Needs needs(const core::Manifest& there) override {
    std::uint64_t held = 0;  // the next checkpoints replace it
    for (const core::FileRecord& file : there.files) held += file.bytes;
    const auto disk = static_cast<std::uint64_t>(train::training_disk(task_.plan, census_));
    const std::optional<nn::Share> share = task_.plan.cut.share(ranks_.group);
    const std::int64_t memory =
        train::training_memory(task_.plan, task_.data, loaders_, share ? &*share : nullptr);
    return {.memory = static_cast<std::uint64_t>(memory),
            .memory_cause = "The training needs",
            .memory_remedy = "use a smaller --micro-batch, a smaller network, or fewer ranks per node",
            .disk = disk,
            .disk_missing = disk - std::min(disk, held),
            .disk_cause = "The checkpoints to write"};
  }

  core::Report outline() override {
    return {facts(), nn::describe(task_.plan.network, census_) + train::outline(run, task_.plan, task_.data)};
  }

  core::Report make(core::OutputDirectory& output) override {
    const train::TrainingPlan& plan = task_.plan;
    train::ModelDirectory directory(run.comm, output, manifest_of(task_));
    if (const auto leak = task_.data.leak())
      run.log.warn("{} of {} share {} seeds: errors on them are not those on unseen universes.",
                   leak->between, plan.data, leak->seeds);
    if (!plan.decay_at.empty() && plan.decay_at.back() >= plan.epochs) {
      run.log.warn("--decay-at {} is not before the end of {} epochs: the learning rate does not drop there.",
                   plan.decay_at.back(), plan.epochs);
    }
    return train_on(run, ranks_, task_, arithmetic_, run_time_, loaders_, directory);
  }

  Json found(const core::Manifest&) override { return facts(); }

 private:
  Json facts() const { return train::facts_of(task_.plan, census_, run.comm.size()); }

  core::Timer run_time_;
  Task task_;
  nn::NetworkCensus census_;
  dataset::SampleGroups ranks_;
  train::LoaderConfigs loaders_;
  nn::Arithmetic arithmetic_;  ///< the plan's, or that of the training to continue
};

void run_train(const core::Invocation& run) {
  run.comm.agree([&] { train::check_purpose(run.options); });
  if (run.options.flag("benchmark")) return train::run_benchmark(run);
  TrainingStage stage(run);
  core::run_stage(stage);
}

}  // namespace

core::Tool train::cosmo_train_tool() {
  return {"cosmo-train",
          "a network that estimates cosmological parameters from particle counts",
          {nn::library_version()},
          {{"", "trains a network on the shards that cosmo-prep wrote",
            "mpirun -n 2 cosmo-train --data data --output model --network cosmoflow32 --epochs 80", true,
            core::OnStop::save, &declare, &run_train}}};
}
