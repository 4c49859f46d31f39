#include "train/plan/training_plan.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/error.hpp"
#include "core/named.hpp"
#include "dataset/load/data_loader.hpp"
#include "dataset/shard/voxel_transform.hpp"
#include "nn/model/model_manifest.hpp"
#include "nn/network.hpp"
#include "train/plan/network_options.hpp"
#include "train/plan/optimizer_options.hpp"

namespace cosmo::train {

using core::ensure;
using core::Fault;

int default_micro_batch(int global_batch, int groups, nn::Shape input, bool normalises) {
  const int share = std::max(1, global_batch / groups);
  const std::int64_t volumes = normalises ? 4 : 1;
  const std::int64_t most =
      std::max<std::int64_t>(1, volumes * std::int64_t{128} * 128 * 128 / input.elements());
  int micro_batch = static_cast<int>(std::min<std::int64_t>(share, most));
  while (share % micro_batch != 0) --micro_batch;
  return micro_batch;
}

namespace {

nn::Output read_output(const core::Options& options, int parameters) {
  const nn::LossEntry& loss = options.entry("loss", nn::kLosses);
  ensure(loss.components > 0 || !options.chosen("components"), Fault::usage,
         "Option --components applies only with --loss mixture: leave it out with {}.", loss.name);
  int components = 0;
  if (loss.components > 0)
    components = static_cast<int>(options.integer("components", 1, nn::kMostComponents));
  return {loss.name, parameters, components};
}

}  // namespace

LearningRate TrainingPlan::schedule(std::int64_t steps_per_epoch) const {
  const auto steps = [&](double epoch_count) {
    return std::llround(epoch_count * static_cast<double>(steps_per_epoch));
  };
  LearningRate rate{
      learning_rate, min_learning_rate, decay_epochs * steps_per_epoch, steps(warmup_epochs), {}};
  rate.shape = decay;
  for (std::size_t i = 0; i < decay_at.size(); ++i) rate.drops.push_back({steps(decay_at[i]), decay_by[i]});
  return rate;
}

std::unique_ptr<Optimizer> make_optimizer(const TrainingPlan& plan, std::span<const nn::Parameter> parameters,
                                          std::int64_t steps_per_epoch) {
  return plan.optimizer->make(plan.optimizer_settings, parameters, plan.schedule(steps_per_epoch));
}

namespace {

/// Reads an option in minutes [s].
double read_minutes(const core::Options& options, const std::string& name) {
  const double minutes = options.number(name);
  ensure(minutes >= 0, Fault::config, "Option --{} is negative: give minutes.", name);
  return 60 * minutes;
}

/// "ranks", or groups of them that share samples.
const char* sharers(const TrainingPlan& plan) {
  return plan.cut.ranks_per_sample == 1 ? "ranks" : "groups of ranks";
}

/// The global batches next to the plan's that `groups` groups can share: "8 or 16".
std::string batches_near(const TrainingPlan& plan, int groups) {
  const auto share = static_cast<unsigned>(plan.global_batch / groups);
  if (share == 0) return fmt::format("{}", groups);
  const bool in_tree = plan.order == SumOrder::reproducible;
  const unsigned below = in_tree ? std::bit_floor(share) : share, above = in_tree ? 2 * below : below + 1;
  return fmt::format("{} or {}", below * static_cast<unsigned>(groups),
                     above * static_cast<unsigned>(groups));
}

/// Checks the sizes of batches against the numbers of samples and of ranks, or groups of ranks that share samples.
void check_batches(const core::Options& options, const TrainingPlan& plan, std::uint64_t samples,
                   int groups) {
  const char* const ranks = sharers(plan);
  ensure(samples >= static_cast<std::uint64_t>(groups), Fault::config,
         "{} has {} training samples for {} {}: use at most as many as samples.", plan.data, samples, groups,
         ranks);
  ensure(static_cast<std::uint64_t>(plan.global_batch) <= samples, Fault::config,
         "--global-batch {} exceeds the {} training samples of {}: give at most {}.", plan.global_batch,
         samples, plan.data, samples - samples % static_cast<std::uint64_t>(groups));
  ensure(options.given("micro-batch") || plan.global_batch % groups == 0, Fault::config,
         "--global-batch {} must be a multiple of the {} {}: give {}, or use another number of ranks.",
         plan.global_batch, groups, ranks, batches_near(plan, groups));
  ensure(plan.global_batch % (std::int64_t{groups} * plan.micro_batch) == 0, Fault::config,
         "--global-batch {} is not a multiple of --micro-batch {} × {} {}: change one of the three.",
         plan.global_batch, plan.micro_batch, groups, ranks);
}

/// Checks whether the step's samples can be summed in a tree.
void check_reproducible(const TrainingPlan& plan, int groups) {
  ensure(
      plan.wire == WireFormat::f32, Fault::config,
      "--deterministic any sends sums in f32, since bf16 rounds what each rank has summed: leave out --reduction-precision "
      "bf16, or give --deterministic layout.");
  const auto share = static_cast<unsigned>(plan.global_batch / groups);
  ensure(
      std::has_single_bit(share), Fault::config,
      "--deterministic any needs a power of two of samples in a step for each of the {} {}, not {}: give --global-batch "
      "{}, or use another number of ranks.",
      groups, sharers(plan), share, batches_near(plan, groups));
}

/// The number of samples by which is chosen what to filter. Where a network normalises, gradients of samples cancel,
/// and with them 99 % of what all kernels compute: ranks and micro-batches must not change the kernels.
int images_to_choose_by(const TrainingPlan& plan) {
  return nn::find_normalisation(plan.network) >= 0 ? plan.global_batch : plan.micro_batch;
}

void read_augmentation(const core::Options& options, const dataset::DatasetManifest& data,
                       TrainingPlan& plan) {
  const std::string& augment = options.choice("augment");
  // Imported data may have been cut from anything.
  const bool whole_boxes = data.subvolumes == 1 && data.origin.cut;
  ensure(augment != "rolls" || whole_boxes, Fault::config,
         "--augment rolls is for whole periodic boxes, but {} holds others: give turns, or shard with "
         "--subvolumes 1.",
         plan.data);
  plan.augment = augment != "off";
  // Trainings from before rolls existed recorded "on" and meant turns.
  plan.roll = whole_boxes && (augment == "rolls" || (augment == "on" && plan.recipe != "paper"));
}

}  // namespace

TrainingPlan read_training_plan(const core::Options& given, const dataset::DatasetManifest& data, int ranks) {
  const core::Options options = with_recipe(given);
  const std::uint64_t samples = data.split(dataset::Split::train).samples;
  TrainingPlan plan;
  ensure(!given.given("init-from") || given.chosen("network"), Fault::usage,
         "Option --init-from needs --network: give that of the model.");
  plan.recipe = find_recipe(options).name;
  plan.data = options.text("data");
  plan.directory = options.text("output");
  plan.parameters = static_cast<int>(data.spec.parameters.size());
  plan.output = read_output(options, plan.parameters);
  plan.input = {data.spec.channels(), data.spec.side()};
  plan.network = nn::with_outputs(read_network(options), plan.output.values());
  plan.output.ensure_made_by(plan.network);
  const nn::NetworkCensus census = nn::take_census(plan.network, plan.input, plan.output.values());
  plan.order = options.entry("deterministic", kSumOrders).value;
  plan.cut = read_cut(options, plan.network, census, plan.input, ranks, plan.order);
  const int groups = ranks / plan.cut.ranks_per_sample;
  plan.epochs = static_cast<int>(options.integer("epochs", 1, kMostEpochs));
  plan.decay_epochs = read_decay_epochs(options, plan);
  plan.global_batch = static_cast<int>(options.integer("global-batch", 1, 1 << 20));
  if (!given.chosen("global-batch"))
    plan.global_batch =
        static_cast<int>(std::min<std::uint64_t>(samples, static_cast<std::uint64_t>(plan.global_batch)));
  plan.micro_batch = options.given("micro-batch")
                         ? static_cast<int>(options.integer("micro-batch", 1, 1 << 16))
                         : default_micro_batch(plan.global_batch, groups, plan.input,
                                               nn::find_normalisation(plan.network) >= 0);
  if (plan.order == SumOrder::reproducible) plan.micro_batch = 1;
  check_batches(options, plan, samples, groups);
  ensure(plan.global_batch > 1 || nn::find_normalisation(plan.network) < 0, Fault::config,
         "Network {} normalises by the batch, but --global-batch is 1: give at least 2, or better 8 or more.",
         plan.network.name);
  plan.seed = options.seed("seed");
  plan.convolution = read_convolution(options);
  plan.precision = read_precision(options);
  plan.arithmetic = arithmetic_of(plan.network, census, images_to_choose_by(plan), plan.precision.value,
                                  plan.convolution.value);
  plan.wire = options.entry("reduction-precision", kWireFormats).value;
  if (plan.order == SumOrder::reproducible) check_reproducible(plan, groups);
  plan.arithmetic.reproducible = plan.order == SumOrder::reproducible;
  read_optimizer(options, plan);
  const auto batch = static_cast<std::uint64_t>(plan.global_batch);
  check_schedule(plan, static_cast<std::int64_t>((samples + batch - 1) / batch));
  plan.voxels =
      options.given("voxels") ? options.choice("voxels") : dataset::default_voxel_transform(data.spec.kind);
  (void)dataset::find_voxel_transform(plan.voxels, data.scale());
  read_augmentation(options, data, plan);
  if (options.given("time-limit")) plan.time_limit = read_minutes(options, "time-limit");
  plan.checkpoint_interval = read_minutes(options, "checkpoint-minutes");
  return plan;
}

core::Request request_of(const TrainingPlan& plan, const dataset::DatasetManifest& data) {
  const OptimizerEntry& optimizer = *plan.optimizer;
  core::Json config = {{"network", plan.network},
                       {"epochs", plan.epochs},
                       {"decay_epochs", plan.decay_epochs},
                       {"global_batch", plan.global_batch},
                       {"optimizer", optimizer.name},
                       {optimizer.option, optimizer.setting(plan.optimizer_settings)},
                       {"learning_rate", plan.learning_rate},
                       {"min_learning_rate", plan.min_learning_rate},
                       {"voxels", plan.voxels},
                       {"augment", plan.augment},
                       {"precision", plan.precision.name},
                       {"seed", plan.seed}};
  plan.output.identify(config);
  if (plan.recipe != "paper") config["recipe"] = plan.recipe;
  if (plan.decay != DecayShape::linear) config["decay"] = "cosine";
  if (!std::isinf(plan.clip_norm)) config["clip_norm"] = plan.clip_norm;
  if (plan.average > 0) config["average"] = plan.average;
  if (plan.choice_epochs > 1) config["choice_epochs"] = plan.choice_epochs;
  if (plan.roll) config["roll"] = true;
  if (plan.convolution.value != nn::ConvolutionMethod::automatic)
    config["convolution"] = plan.convolution.name;
  if (plan.wire == WireFormat::bf16) config["reduction_precision"] = "bf16";
  if (plan.order == SumOrder::reproducible) config["deterministic"] = "any";
  if (plan.order == SumOrder::reproducible && plan.cut.ranks_per_sample > 1)
    config["slabs"] = plan.cut.ranks_per_sample;
  if (plan.warmup_epochs > 0) config["warmup_epochs"] = plan.warmup_epochs;
  if (!plan.decay_at.empty()) config.update({{"decay_at", plan.decay_at}, {"decay_by", plan.decay_by}});
  return {.stage = "train",
          .config = config,
          .inputs = {core::input_record(plan.data, data.base, plan.directory)},
          .check = &nn::check_model_manifest};
}

}  // namespace cosmo::train
