#include "train/tool/cosmo_train.hpp"

#include <algorithm>
#include <optional>

#include "core/error.hpp"
#include "core/run/stage.hpp"
#include "core/timer.hpp"
#include "nn/model/model_posterior.hpp"
#include "nn/summary.hpp"
#include "nn/zoo/zoo.hpp"
#include "train/plan/training_data.hpp"
#include "train/plan/training_memory.hpp"
#include "train/state/model_directory.hpp"
#include "train/tool/benchmark_command.hpp"
#include "train/tool/posterior_command.hpp"
#include "train/tool/task.hpp"
#include "train/tool/training.hpp"
#include "train/tool/training_report.hpp"

namespace {

using namespace cosmo;
using core::Fault;
using core::Json;

void declare(core::Options& options) {
  train::declare_task(options);
  train::declare_benchmark(options);
  options.begin_group("Networks");
  options.add(
      "print-network NAME", std::nullopt,
      "print the JSON of a network that --network can name, to change it and give it as FILE.json, and stop");
  train::declare_posterior(options);
}

void print_network(const core::Invocation& run) {
  run.comm.agree([&] {
    run.options.refuse_all_but({"print-network", "peer-timeout", "config", "threads", "json", "quiet"},
                               "--print-network");
    const Json json = nn::find_network(run.options.text("print-network"));
    run.report(json, json.dump(2) + "\n");
  });
}

core::Overwrite read_overwrite(const core::Options& options) {
  core::Overwrite overwrite{.force = options.flag("force")};
  overwrite.remedy = "--resume to continue it to more --epochs with all else equal, or --force to replace it";
  if (options.flag("resume")) overwrite.extendable = {"epochs"};
  overwrite.precious = train::kCheckpointPrefix;
  return overwrite;
}

class TrainingStage : public core::Stage {
 public:
  explicit TrainingStage(const core::Invocation& invocation)
      : Stage(invocation),
        task_(train::read_task(run)),
        census_(task_.plan.census()),
        ranks_(run.comm, task_.plan.batching.cut.ranks_per_sample),
        loaders_(train::loaders_of(ranks_, task_.plan, task_.data, task_.readers)),
        arithmetic_(task_.plan.formats.arithmetic) {
    request = task_.request;
    overwrite = read_overwrite(run.options);
  }

  void check(const core::Manifest& there) override {
    core::ensure(!run.options.flag("resume") || train::last_checkpoint(there.files) != nullptr, Fault::config,
                 "{} holds no training to --resume: leave the option out to begin one.", target);
    arithmetic_.filtered = train::kept_filtered(target, there, task_.plan.formats.arithmetic.filtered,
                                                task_.plan.network.spec, census_);
  }

  /// Builds the network's primitives.
  core::Needs needs(const core::Manifest& there) override {
    std::uint64_t held = 0;  // the next checkpoints replace it
    for (const core::FileRecord& file : there.files) held += file.bytes;
    const auto disk = static_cast<std::uint64_t>(train::training_disk(task_.plan, task_.data, census_));
    const std::optional<nn::Share> share = task_.plan.batching.cut.share(ranks_.group);
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
    warn_of_plan();
    return {facts(),
            nn::describe(task_.plan.network.spec, census_) + train::outline(run, task_.plan, task_.data)};
  }

  core::Report make(core::OutputDirectory& output) override {
    train::ModelDirectory directory(run.comm, output, train::manifest_of(task_));
    return train::Training({run, run_time_, ranks_, loaders_, arithmetic_}, task_, directory).run();
  }

  core::Report found(const core::Manifest& there) override {
    core::Report report = train::quality_of(target, nn::parse_model_manifest(there, target));
    report.facts.update(facts());
    return report;
  }

 private:
  /// What the user may not have meant.
  void warn_of_plan() const {
    const train::TrainingPlan& plan = task_.plan;
    if (const auto leak = task_.data.leak())
      run.log.warn("{} of {} share {} seeds: errors on them are not those on unseen universes.",
                   leak->between, plan.data, leak->seeds);
    const dataset::SampleSpec& spec = task_.data.spec;
    if (spec.input.kind == dataset::VoxelKind::field && spec.input.channels() > 1 &&
        !task_.data.scaled_by_channel())
      run.log.warn(
          "The {} channels of {} share one mean and deviation, as its manifest does not state those of each: repeat "
          "cosmo-prep import with --force if they are in different units.",
          spec.input.channels(), plan.data);
    if (plan.objective.output.calibration_values() > 0)
      run.log.warn(
          "--loss {} is accepted until 0.5: a training with --loss mse ends with a posterior, which the network need not "
          "learn and which holds its errors and their correlations, too.",
          plan.objective.output.option());
    if (spec.target && plan.objective.target.empty())
      run.log.info(
          "{} has {} beside its counts, which this training of parameters leaves out: --target {} learns it.",
          plan.data, spec.target->name, spec.target->name);
    const auto& drops = plan.schedule.drops;
    if (!drops.empty() && drops.back().epochs >= plan.epochs) {
      run.log.warn(
          "The last of --drops is after {} epochs, not before the end of {}: the learning rate does not drop there.",
          drops.back().epochs, plan.epochs);
    }
    if (run.options.flag("resume") && plan.epochs > plan.schedule.epochs)
      run.log.warn(
          "The learning rate stays at {} after epoch {}, where the decay of the training ends: for a new decay train into "
          "another --output with --init-from {}.",
          plan.schedule.least, plan.schedule.epochs, plan.directory);
  }

  Json facts() const { return train::facts_of(task_.plan, census_, run.comm.size()); }

  core::Timer run_time_;
  train::Task task_;
  nn::NetworkCensus census_;
  dataset::SampleGroups ranks_;
  train::LoaderConfigs loaders_;
  nn::Arithmetic arithmetic_;  ///< the plan's, or that of the training to continue
};

void run_train(const core::Invocation& run) {
  if (run.options.given("print-network")) return print_network(run);
  if (run.options.flag("posterior-only")) return train::run_posterior(run);
  run.comm.agree([&] {
    core::ensure(!run.options.given("model"), Fault::usage,
                 "Option --model applies only with --posterior-only: leave it out.");
    train::check_purpose(run.options);
  });
  if (run.options.chosen("benchmark")) return train::run_benchmark(run);
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
