#include "train/plan/training_plan.hpp"

#include <filesystem>
#include <system_error>

#include "core/error.hpp"
#include "nn/model/model_manifest.hpp"

namespace cosmo::train {

namespace {

/// The number of samples by which is chosen what to filter. Where a network normalises, gradients of samples cancel,
/// and with them 99 % of what all kernels compute: ranks and micro-batches must not change the kernels.
int images_to_choose_by(const TrainingPlan& plan) {
  return nn::find_normalisation(plan.network.spec) >= 0 ? plan.batching.global_batch
                                                        : plan.batching.micro_batch;
}

}  // namespace

void declare_training(core::Options& options) {
  options.begin_group(core::kEveryDay);
  options.add("data DIR", std::nullopt, "directory that cosmo-prep shard or import wrote");
  declare_recipe(options);
  options.add("epochs N", "50", "passes over the training samples");
  NetworkChoice::declare(options);
  Objective::declare(options);
  Batching::declare(options);
  Schedule::declare(options);
  Method::declare(options);
  NumberFormats::declare(options);
  Limits::declare(options);
}

TrainingPlan read_training_plan(const core::Options& given, const dataset::DatasetManifest& data, int ranks) {
  const PlanContext context{find_recipe(given), data, ranks};
  const core::Options options = given.with_defaults(context.recipe.options);
  core::ensure(
      !context.recipe.several_settings || !data.spec.settings.empty(), core::Fault::config,
      "--recipe {} learns what settings of simulators change, and all universes of {} have the same: join suites of "
      "several settings (cosmo-prep shard --input A,B,C), or simulate with lists of them, as --mesh 64,128.",
      context.recipe.name, options.text("data"));
  TrainingPlan plan;
  plan.recipe = context.recipe.name;
  plan.data = options.text("data");
  plan.directory = options.text("output");
  std::error_code error;
  core::ensure(!std::filesystem::equivalent(plan.data, plan.directory, error), core::Fault::config,
               "--output {} is the data: give the model a directory of its own.", plan.directory);
  plan.epochs = static_cast<int>(options.integer("epochs", 1, kMostEpochs));
  plan.objective = Objective::read(options, context);
  plan.input = {
      data.spec.input.channels() + static_cast<int>(plan.objective.transform(data).channels_beside()),
      data.spec.side()};
  plan.network = NetworkChoice::read(options, context);
  nn::NetworkSpec& network = plan.network.spec;
  network = nn::with_outputs(network, plan.objective.output.shape().channels);
  const nn::NetworkCensus census = plan.census();
  plan.objective.output.ensure_made_by(network, census);
  plan.batching = Batching::read(options, context, network, census, plan.input);
  plan.formats =
      NumberFormats::read(options, network, census, images_to_choose_by(plan), plan.batching.order);
  plan.method = Method::read(options);
  const std::int64_t steps = plan.batching.steps_per_epoch(data.split(dataset::Split::train).samples);
  plan.schedule = Schedule::read(options, context, plan.epochs, plan.batching.global_batch,
                                 *plan.method.optimizer, steps);
  plan.limits = Limits::read(options, plan.objective.output);
  return plan;
}

core::Request request_of(const TrainingPlan& plan, const dataset::DatasetManifest& data) {
  core::Json config = {{"epochs", plan.epochs}};
  if (plan.recipe != "paper") config["recipe"] = plan.recipe;
  plan.network.identify(config);
  plan.objective.identify(config);
  plan.batching.identify(config);
  plan.formats.identify(config);
  plan.method.identify(config);
  plan.schedule.identify(config);
  plan.limits.identify(config);
  return {.stage = "train",
          .config = config,
          .inputs = {core::input_record(plan.data, data.base, plan.directory)},
          .check = &nn::check_model_manifest};
}

void log_settings(MlperfLog& log, const TrainingPlan& plan, const dataset::DatasetManifest& data,
                  const Platform& platform) {
  log.point("submission_benchmark", "cosmoflow");
  log.point("submission_org", "none");
  log.point("submission_division", "open");
  log.point("submission_status", "research");
  log.point("submission_platform", platform.name);
  log.point("cache_clear", false);
  log.point("number_of_ranks", platform.ranks);
  log.point("number_of_nodes", platform.nodes);
  log.point("accelerators_per_node", 0);
  log.point("train_samples", data.split(dataset::Split::train).samples);
  log.point("eval_samples", data.split(dataset::Split::validation).samples);
  plan.network.state(log);
  plan.batching.state(log, platform.ranks);
  plan.method.state(log);
  plan.schedule.state(log);
}

}  // namespace cosmo::train
