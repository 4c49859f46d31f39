#include "train/training_plan.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "dataset/data_loader.hpp"
#include "dataset/voxel_transform.hpp"
#include "train/nn/loss.hpp"
#include "train/nn/zoo/zoo.hpp"

namespace cosmo::train {

using core::ensure;
using core::Fault;

void declare_training(core::Options& options) {
  std::string names;
  for (const nn::NetworkEntry& entry : nn::networks())
    names += fmt::format("{} ({}), ", entry.name, entry.meaning);
  options.add("data", std::nullopt, "directory that cosmo-prep shard wrote");
  options.add("network", "cosmoflow", names + "or FILE.json");
  options.add("epochs", "50", "passes over the training samples");
  options.add("global-batch", "16", "samples a step, all ranks together");
  options.add("micro-batch", std::nullopt,
              "samples a rank works on at once [as many as make up one 128³ volume]");
  options.add("learning-rate", "2e-3", "at the first step");
  options.add("min-learning-rate", "1e-4", "after the decay, which is linear in the step");
  options.add("decay-epochs", std::nullopt, "epochs until the smallest learning rate is reached [= epochs]");
  options.add("optimizer", "larc-adam", "larc-adam");
  options.add("larc", "paper",
              "what LARC scales: the gradient before Adam (paper), Adam's update (trust-ratio), off");
  options.add("loss", "mae", "mae or mse, of labels in [-1, 1]");
  options.add("voxels", "log1p",
              "network input: log1p (log of 1 + count) or mean (count / mean of the sub-volume)");
  options.add("augment", "on", "turn training samples by the 48 symmetries of the cube: on or off");
  options.add("precision", "f32", "f32");
  options.add("dropout", "0", "0");
  options.add("seed", "1", "seed of weights, order and symmetries");
  options.add("time-limit", std::nullopt, "minutes; no epoch is begun that would end later [none]");
  options.add_flag("resume", "continue the training in --output, also a finished one to more --epochs");
}

int default_micro_batch(int global_batch, int ranks, nn::Shape input) {
  const int share = std::max(1, global_batch / ranks);
  const std::int64_t most = std::max<std::int64_t>(1, std::int64_t{128} * 128 * 128 / input.elements());
  int micro_batch = static_cast<int>(std::min<std::int64_t>(share, most));
  while (share % micro_batch != 0) --micro_batch;
  return micro_batch;
}

nn::NetworkSpec read_network(const core::Options& options) {
  const std::string& name = options.text("network");
  if (!name.ends_with(".json")) {
    std::vector<std::string> names;
    for (const nn::NetworkEntry& entry : nn::networks()) names.emplace_back(entry.name);
    names.emplace_back("FILE.json");
    return nn::find_network(options.choice("network", names));
  }
  const core::Json json = core::read_json(name);
  try {
    return json.get<nn::NetworkSpec>();
  } catch (const core::Error& error) {
    core::fail(error.fault(), "{} of --network: {}", name, error.what());
  }
}

namespace {

/// --decay-epochs, or what a training that is resumed began with, or --epochs.
int read_decay_epochs(const core::Options& options, const TrainingPlan& plan) {
  if (options.given("decay-epochs")) return static_cast<int>(options.integer("decay-epochs", 1, 1'000'000));
  int decay_epochs = plan.epochs;
  const std::filesystem::path manifest = std::filesystem::path(plan.output) / core::kManifestName;
  if (options.flag("resume") && std::filesystem::exists(manifest)) {
    const core::Json json = core::read_json(manifest);
    core::reading_json(manifest.string(), [&] { decay_epochs = json.at("config").at("decay_epochs"); });
  }
  return decay_epochs;
}

}  // namespace

TrainingPlan read_training_plan(const core::Options& options, const dataset::DatasetManifest& data,
                                int ranks) {
  TrainingPlan plan;
  plan.data = options.text("data");
  plan.output = options.text("output");
  plan.outputs = static_cast<int>(data.spec.parameters.size());
  plan.input = {data.spec.channels(), data.spec.side()};
  plan.network = nn::with_outputs(read_network(options), plan.outputs);
  (void)nn::take_census(plan.network, plan.input, plan.outputs);
  plan.epochs = static_cast<int>(options.integer("epochs", 1, 1'000'000));
  plan.decay_epochs = read_decay_epochs(options, plan);
  plan.global_batch = static_cast<int>(options.integer("global-batch", 1, 1 << 20));
  plan.micro_batch = options.given("micro-batch")
                         ? static_cast<int>(options.integer("micro-batch", 1, 1 << 16))
                         : default_micro_batch(plan.global_batch, ranks, plan.input);
  dataset::LoaderConfig loader;
  loader.ranks = ranks;
  loader.global_batch = plan.global_batch;
  loader.micro_batch = plan.micro_batch;
  dataset::validate(loader);
  plan.seed = options.seed("seed");
  (void)options.choice("optimizer", {"larc-adam"});
  (void)options.choice("precision", {"f32"});
  (void)options.choice("dropout", {"0"});
  plan.loss = options.choice("loss", {"mae", "mse"});
  plan.larc = options.choice("larc", {"paper", "trust-ratio", "off"});
  plan.learning_rate = options.number("learning-rate");
  plan.min_learning_rate = options.number("min-learning-rate");
  validate(LearningRate{plan.learning_rate, plan.min_learning_rate, 1});
  plan.voxels = options.choice("voxels", dataset::voxel_transform_names());
  plan.augment = options.choice("augment", {"on", "off"}) == "on";
  if (options.given("time-limit")) {
    plan.time_limit = 60 * options.number("time-limit");
    ensure(plan.time_limit >= 0, Fault::config, "Option --time-limit is negative: give minutes.");
  }
  return plan;
}

core::Request request_of(const TrainingPlan& plan, const dataset::DatasetManifest& data) {
  const core::Json config = {{"network", plan.network},
                             {"epochs", plan.epochs},
                             {"decay_epochs", plan.decay_epochs},
                             {"global_batch", plan.global_batch},
                             {"optimizer", "larc-adam"},
                             {"larc", plan.larc},
                             {"learning_rate", plan.learning_rate},
                             {"min_learning_rate", plan.min_learning_rate},
                             {"loss", plan.loss},
                             {"voxels", plan.voxels},
                             {"augment", plan.augment},
                             {"precision", "f32"},
                             {"seed", plan.seed}};
  return {"train", config, {core::input_record(plan.data, data.base, plan.output)}};
}

}  // namespace cosmo::train
