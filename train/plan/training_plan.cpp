#include "train/plan/training_plan.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/error.hpp"
#include "core/named.hpp"
#include "dataset/load/data_loader.hpp"
#include "dataset/load/sample_groups.hpp"
#include "dataset/shard/voxel_transform.hpp"
#include "train/nn/model/model_manifest.hpp"
#include "train/nn/network.hpp"
#include "train/nn/posterior/mixture_head.hpp"
#include "train/nn/zoo/zoo.hpp"
#include "train/optimizer/sgd.hpp"

namespace cosmo::train {

using core::ensure;
using core::Fault;

namespace {

constexpr int kMostEpochs = 1'000'000;

std::vector<std::string> network_choices() {
  std::vector<std::string> names = core::names_in(nn::networks());
  names.emplace_back("FILE.json");
  return names;
}

}  // namespace

void declare_training(core::Options& options) {
  options.add("data", std::nullopt, "directory that cosmo-prep shard or import wrote");
  options.add("network", "cosmoflow", core::meanings_in(nn::networks()) + "; or FILE.json",
              network_choices());
  declare_recipe(options);
  options.add("epochs", "50", "passes over the training samples");
  options.add(
      "global-batch", std::nullopt,
      "samples per step on all ranks together; the default falls to the number of training samples if "
      "there are fewer" +
          by_recipe("global-batch"));
  options.add("micro-batch", std::nullopt,
              "samples that each rank works on at once [enough for one 128³ volume; for four if the network "
              "normalises, since it runs forward twice with several micro-batches per step]");
  dataset::declare_ranks_per_sample(options, "Neither weights nor losses depend on it, except for rounding");
  options.add("seed", "1", "seed of weights, order, symmetries and dropout");
  options.begin_group("Learning rate");
  options.add("learning-rate", std::nullopt,
              "learning rate before any decay [adamw: 3e-3; larc-adam: 2e-3; sgd: 1e-3 × global batch / 64]");
  options.add("min-learning-rate", std::nullopt,
              "learning rate after the decay [adamw: 1e-5, larc-adam: 1e-4, or --learning-rate if that is "
              "lower; sgd: --learning-rate]");
  options.add("decay", std::nullopt,
              "how the learning rate falls with the steps: cosine or linear" + by_recipe("decay"),
              core::names_in(kDecayShapes));
  options.add("decay-epochs", std::nullopt, "epochs until the smallest learning rate is reached [= epochs]");
  options.add("warmup-epochs", std::nullopt,
              "epochs over which the learning rate rises linearly from 0 [standard: a twentieth of "
              "--decay-epochs; paper: 0]");
  options.add("decay-at", std::nullopt, "EPOCHS,... after which the learning rate drops [never]");
  options.add("decay-by", std::nullopt, "FACTORS,... of the rate without any drop, one per --decay-at");
  options.begin_group("Optimizer");
  options.add("optimizer", std::nullopt, core::meanings_in(optimizers()) + by_recipe("optimizer"),
              core::names_in(optimizers()));
  options.add("weight-decay", "1e-4",
              "(adamw) share of the weights, times the learning rate, that each step removes");
  options.add(
      "larc", "paper",
      "(larc-adam) quantity that LARC scales: the gradient before Adam (paper), Adam's update (trust-ratio) "
      "or none (off)",
      core::names_in(kLarcModes));
  options.add("momentum", "0.9", "(sgd) share of the last update that is kept");
  options.add("clip-norm", std::nullopt,
              "largest norm of gradients, to which larger ones are scaled, or off" + by_recipe("clip-norm"));
  options.add("average", std::nullopt,
              "decay per step of the weights' exponential average, which is then validated and used, or off" +
                  by_recipe("average"));
  options.begin_group("What is learned");
  options.add("choice-epochs", std::nullopt,
              "number of epochs over which the validation loss that chooses the best epoch is averaged" +
                  by_recipe("choice-epochs"));
  options.add(
      "loss", std::nullopt,
      "mae or mse of labels in [-1, 1], or gaussian: the network predicts means and a full covariance, and "
      "the loss is -log of the density per label, that Gaussian being cut off outside [-1, 1]; or mixture: "
      "the same with several Gaussians, for posteriors with several peaks or tails; both for up to five "
      "parameters" +
          by_recipe("loss"),
      core::names_in(nn::kLosses));
  options.add("components", "3", "(--loss mixture) number of Gaussians, 1 to 8");
  options.add("voxels", std::nullopt, "network input: " + dataset::voxel_transform_help(),
              dataset::voxel_transform_names());
  options.add("augment", std::nullopt,
              "change training samples at random: off, turns (the 48 symmetries of the cube), or rolls (also "
              "shift whole periodic boxes); on: whatever the data allow" +
                  by_recipe("augment"),
              {"on", "off", "turns", "rolls"});
  options.add("dropout", std::nullopt,
              "probability with which dropout layers drop a value in training [the network's own]");
  options.add(
      "baseline", std::nullopt,
      "predictions to mix in, with shares chosen by validation: summary-statistics (a regression on each "
      "sample's P(k), P(k) of log(1 + n), moments and distribution of counts) or none [the network's own]",
      {"summary-statistics", "none"});
  options.add(
      "init-from", std::nullopt,
      "directory of a model with the same --network, whose weights are the initial values, to fine-tune what "
      "was trained on cheaper universes [random]");
  options.begin_group("Number formats");
  options.add("precision", "f32",
              "format of convolutions and pools: f32, or bf16 with f32 weights (needs AVX512_BF16)",
              core::names_in(nn::kPrecisions));
  options.add(
      "convolution", "auto",
      "method of convolutions: direct, filtered (minimal filtering in f32, an eighth of the products, where the "
      "form of a layer permits it), or auto (filtered where that is faster)",
      core::names_in(nn::kConvolutionMethods));
  options.add("reduction-precision", "f32",
              "format of gradients sent between ranks: f32, or bf16 (half the bytes, 8 significant bits)",
              core::names_in(kWireFormats));
  options.add(
      "deterministic", std::string(kSumOrders.front().name),
      "when a training gives the same bits: layout (with the same ranks, threads and micro-batch), or any (with any "
      "of these, one sample at a time; a stopped training continues with the same bits on other ranks)",
      core::names_in(kSumOrders));
  options.begin_group("Stopping and continuing");
  options.add("time-limit", std::nullopt,
              "minutes that this run may take, saving included; it ends after a step, and the same command "
              "continues from there [none]");
  options.add("checkpoint-minutes", "10",
              "minutes after which the state is saved even within an epoch; 0: after every step");
  options.add_flag("resume", "continue the training in --output, even a finished one with more --epochs");
}

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

nn::NetworkSpec read_named_network(const core::Options& options) {
  const std::string& name = options.text("network");
  if (!name.ends_with(".json")) {
    return nn::find_network(options.choice("network"));
  }
  const core::Json json = core::read_json(name);
  try {
    return json.get<nn::NetworkSpec>();
  } catch (const core::Error& error) {
    core::fail(error.fault(), "{} of --network: {}", name, error.what());
  }
}

}  // namespace

core::Named<nn::Precision> read_precision(const core::Options& options) {
  const core::Named<nn::Precision> precision = options.entry("precision", nn::kPrecisions);
  nn::ensure_units(precision.value);
  return precision;
}

core::Named<nn::ConvolutionMethod> read_convolution(const core::Options& options) {
  return options.entry("convolution", nn::kConvolutionMethods);
}

nn::Arithmetic arithmetic_of(const nn::NetworkSpec& network, const nn::NetworkCensus& census, int batch,
                             nn::Precision precision, nn::ConvolutionMethod method) {
  const bool in_bf16 = precision == nn::Precision::bf16;
  if (in_bf16 && method == nn::ConvolutionMethod::automatic && nn::bf16_units() == nn::Bf16Units::tiles)
    return precision;  // tiles are faster
  nn::FilteredPhases filtered = nn::choose_filtered(network, census, batch, method);
  if (in_bf16)  // a layer's tensors have one layout, so all its phases or none
    std::erase_if(filtered, [](const auto& layer) { return layer.second.size() < nn::kPhases.size(); });
  return {precision, std::move(filtered)};
}

nn::NetworkSpec read_network(const core::Options& options) {
  nn::NetworkSpec network = read_named_network(options);
  if (options.given("baseline"))
    network.baseline = options.choice("baseline") == "none" ? "" : nn::kSummaryStatistics;
  return options.given("dropout") ? nn::with_dropout(network, options.number("dropout")) : network;
}

namespace {

/// --decay-epochs, or that of a resumed training, or --epochs.
int read_decay_epochs(const core::Options& options, const TrainingPlan& plan) {
  if (options.given("decay-epochs")) return static_cast<int>(options.integer("decay-epochs", 1, kMostEpochs));
  int decay_epochs = plan.epochs;
  const auto begun = options.flag("resume") ? config_of_begun(plan.output) : std::nullopt;
  if (begun && begun->contains("decay_epochs") && (*begun)["decay_epochs"].is_number_integer())
    decay_epochs = (*begun)["decay_epochs"];
  return decay_epochs;
}

nn::LossEntry read_loss(const core::Options& options) {
  nn::LossEntry loss = options.entry("loss", nn::kLosses);
  ensure(loss.components > 0 || !options.chosen("components"), Fault::usage,
         "Option --components applies only with --loss mixture: leave it out with {}.", loss.name);
  if (loss.components > 0)
    loss.components = static_cast<int>(options.integer("components", 1, nn::kMostComponents));
  return loss;
}

/// A number, or the value that "off" stands for.
double read_limit(const core::Options& options, const std::string& name, double off) {
  return options.text(name) == "off" ? off : options.number(name);
}

/// Reads the optimizer and its schedule.
void read_optimizer(const core::Options& options, TrainingPlan& plan) {
  const OptimizerEntry& optimizer = options.entry("optimizer", optimizers());
  plan.optimizer = &optimizer;
  for (const OptimizerEntry& other : optimizers()) {
    ensure(&other == &optimizer || !options.chosen(other.option), Fault::usage,
           "Option --{} applies only with --optimizer {}, and this training has {}{}: leave it out, or give "
           "--optimizer {}.",
           other.option, other.name, optimizer.name,
           options.chosen("optimizer") ? "" : fmt::format(", that of --recipe {}", plan.recipe), other.name);
  }
  plan.optimizer_settings.larc = options.entry("larc", kLarcModes);
  plan.optimizer_settings.momentum = options.number("momentum");
  validate(SgdConfig{plan.optimizer_settings.momentum, {}});
  plan.optimizer_settings.weight_decay = options.number("weight-decay");
  LarcAdamConfig adamw;
  adamw.weight_decay = plan.optimizer_settings.weight_decay;
  validate(adamw);
  plan.decay = options.entry("decay", kDecayShapes).value;
  plan.clip_norm = read_limit(options, "clip-norm", std::numeric_limits<double>::infinity());
  ensure(plan.clip_norm > 0, Fault::config, "--clip-norm {} is not positive: give a norm, or off.",
         plan.clip_norm);
  plan.average = read_limit(options, "average", 0);
  ensure(options.text("average") == "off" || (plan.average > 0 && plan.average < 1), Fault::config,
         "The --average of the weights is {}: give a number above 0 and below 1, or off.", plan.average);
  plan.choice_epochs = static_cast<int>(options.integer("choice-epochs", 1, kMostEpochs));
  plan.learning_rate = options.given("learning-rate") ? options.number("learning-rate")
                                                      : optimizer.learning_rate(plan.global_batch);
  plan.min_learning_rate = options.given("min-learning-rate")
                               ? options.number("min-learning-rate")
                               : optimizer.min_learning_rate(plan.learning_rate);
  plan.warmup_epochs = options.given("warmup-epochs") ? options.number("warmup-epochs")
                                                      : find_recipe(options).warmup * plan.decay_epochs;
  if (options.given("decay-at")) plan.decay_at = options.numbers("decay-at");
  if (options.given("decay-by")) plan.decay_by = options.numbers("decay-by");
  ensure(plan.decay_at.size() == plan.decay_by.size(), Fault::usage,
         "Options --decay-at and --decay-by name {} epochs and {} factors: give the same number of each.",
         plan.decay_at.size(), plan.decay_by.size());
}

/// Checks the schedule in epochs, as the options give it, and in steps of this training.
void check_schedule(const TrainingPlan& plan, std::int64_t steps_per_epoch) {
  const int most = std::max(plan.epochs, plan.decay_epochs);
  ensure(plan.warmup_epochs >= 0 && plan.warmup_epochs <= most, Fault::config,
         "--warmup-epochs {} is not between 0 and the {} of --epochs: choose a value in that range.",
         plan.warmup_epochs, most);
  double before = 0;
  for (const double epochs : plan.decay_at) {
    ensure(epochs > before && epochs <= kMostEpochs, Fault::config,
           "--decay-at {} does not rise between 0 and {}: give epochs each of which is later than the last.",
           fmt::join(plan.decay_at, ","), kMostEpochs);
    before = epochs;
  }
  for (const double factor : plan.decay_by) {
    ensure(factor > 0 && factor <= 1, Fault::config,
           "--decay-by {} is not above 0 and at most 1: give factors of the rate without drops.", factor);
  }
  validate(plan.schedule(steps_per_epoch));
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

std::optional<nn::Share> TrainingPlan::share(const core::Communicator& group) const {
  if (!cut) return std::nullopt;
  return nn::Share{*cut, group.rank(), &group};
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

/// Checks the sizes of batches against the numbers of samples and of ranks, or groups of ranks that share samples.
void check_batches(const core::Options& options, const TrainingPlan& plan, std::uint64_t samples,
                   int groups) {
  const char* const ranks = plan.ranks_per_sample == 1 ? "ranks" : "groups of ranks";
  const int share = plan.global_batch / groups;
  ensure(samples >= static_cast<std::uint64_t>(groups), Fault::config,
         "{} has {} training samples for {} {}: use at most as many as samples.", plan.data, samples, groups,
         ranks);
  ensure(static_cast<std::uint64_t>(plan.global_batch) <= samples, Fault::config,
         "--global-batch {} exceeds the {} training samples of {}: give at most {}.", plan.global_batch,
         samples, plan.data, samples - samples % static_cast<std::uint64_t>(groups));
  ensure(
      options.given("micro-batch") || share * groups == plan.global_batch, Fault::config,
      "--global-batch {} must be a multiple of the {} {}: give {}, or use another number of ranks.",
      plan.global_batch, groups, ranks,
      share == 0 ? fmt::format("{}", groups) : fmt::format("{} or {}", share * groups, (share + 1) * groups));
  ensure(plan.global_batch % (std::int64_t{groups} * plan.micro_batch) == 0, Fault::config,
         "--global-batch {} is not a multiple of --micro-batch {} × {} {}: change one of the three.",
         plan.global_batch, plan.micro_batch, groups, ranks);
}

/// Checks whether the step's samples can be summed in a tree.
void check_tree(const TrainingPlan& plan, int groups) {
  ensure(
      plan.ranks_per_sample == 1, Fault::config,
      "--deterministic any is for samples on one rank, since sums over a cut sample depend on the cut: leave out "
      "--ranks-per-sample {}, or give --deterministic layout.",
      plan.ranks_per_sample);
  ensure(
      plan.wire == WireFormat::f32, Fault::config,
      "--deterministic any sends sums in f32, since bf16 rounds what each rank has summed: leave out --reduction-precision "
      "bf16, or give --deterministic layout.");
  const auto share = static_cast<unsigned>(plan.global_batch / groups);
  ensure(
      std::has_single_bit(share), Fault::config,
      "--deterministic any needs a power of two of samples on each rank and step, not {}: change --global-batch {} or the "
      "number of ranks, {}.",
      share, plan.global_batch, groups);
}

/// Reads --ranks-per-sample and plans the cut. Returns the number of groups of ranks.
int read_groups(const core::Options& options, const nn::NetworkCensus& census, int ranks,
                TrainingPlan& plan) {
  plan.ranks_per_sample = dataset::read_ranks_per_sample(options, ranks);
  if (plan.ranks_per_sample > 1) plan.cut.emplace(plan.network, census, plan.input, plan.ranks_per_sample);
  return ranks / plan.ranks_per_sample;
}

}  // namespace

namespace {

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
  plan.output = options.text("output");
  plan.parameters = static_cast<int>(data.spec.parameters.size());
  plan.loss = read_loss(options);
  plan.input = {data.spec.channels(), data.spec.side()};
  plan.network = nn::with_outputs(read_network(options), plan.outputs());
  ensure(
      plan.outputs() == plan.parameters || !std::holds_alternative<nn::Tanh>(plan.network.layers.back().kind),
      Fault::config,
      "Network {} ends in a tanh, which bounds the deviations that --loss {} predicts: choose another "
      "--network, or describe it without the tanh in a FILE.json.",
      plan.network.name, plan.loss.name);
  ensure(plan.network.baseline.empty() || plan.outputs() == plan.parameters, Fault::config,
         "--baseline {} is mixed with labels, and --loss {} predicts distributions: give --loss mse or mae.",
         plan.network.baseline, plan.loss.name);
  const nn::NetworkCensus census = nn::take_census(plan.network, plan.input, plan.outputs());
  const int groups = read_groups(options, census, ranks, plan);
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
  plan.order = options.entry("deterministic", kSumOrders).value;
  if (plan.order == SumOrder::tree) plan.micro_batch = 1;
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
  if (plan.order == SumOrder::tree) check_tree(plan, groups);
  plan.arithmetic.one_thread = plan.order == SumOrder::tree;
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
                       {"loss", plan.loss.name},
                       {"voxels", plan.voxels},
                       {"augment", plan.augment},
                       {"precision", plan.precision.name},
                       {"seed", plan.seed}};
  if (plan.loss.components > 0) config["components"] = plan.loss.components;
  if (plan.recipe != "paper") config["recipe"] = plan.recipe;
  if (plan.decay != DecayShape::linear) config["decay"] = "cosine";
  if (!std::isinf(plan.clip_norm)) config["clip_norm"] = plan.clip_norm;
  if (plan.average > 0) config["average"] = plan.average;
  if (plan.choice_epochs > 1) config["choice_epochs"] = plan.choice_epochs;
  if (plan.roll) config["roll"] = true;
  if (plan.convolution.value != nn::ConvolutionMethod::automatic)
    config["convolution"] = plan.convolution.name;
  if (plan.wire == WireFormat::bf16) config["reduction_precision"] = "bf16";
  if (plan.order == SumOrder::tree) config["deterministic"] = "any";
  if (plan.warmup_epochs > 0) config["warmup_epochs"] = plan.warmup_epochs;
  if (!plan.decay_at.empty()) config.update({{"decay_at", plan.decay_at}, {"decay_by", plan.decay_by}});
  return {.stage = "train",
          .config = config,
          .inputs = {core::input_record(plan.data, data.base, plan.output)},
          .check = &nn::check_model_manifest};
}

}  // namespace cosmo::train
