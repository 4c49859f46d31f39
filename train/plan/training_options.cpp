#include "train/plan/training_options.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/named.hpp"
#include "core/run/options.hpp"
#include "dataset/load/sample_groups.hpp"
#include "dataset/shard/voxel_transform.hpp"
#include "nn/filtered_phases.hpp"
#include "nn/output/output.hpp"
#include "nn/precision.hpp"
#include "nn/zoo/zoo.hpp"
#include "train/gradient/gradient_sum.hpp"
#include "train/gradient/sum_order.hpp"
#include "train/optimizer/optimizer_table.hpp"
#include "train/plan/recipe.hpp"

namespace cosmo::train {

namespace {

std::vector<std::string> network_choices() {
  std::vector<std::string> names = core::names_in(nn::networks());
  names.emplace_back("FILE.json");
  return names;
}

/// The value of --ranks-per-sample for that of --slabs: a rank could have several slabs of a sample.
std::string ranks_of_slabs(const core::Options& options) {
  core::ensure(options.choice("deterministic") == "any", core::Fault::usage,
               "Option --slabs applies only with --deterministic any: leave it out.");
  const std::int64_t slabs = options.integer("slabs", 1, 1 << 10),
                     ranks = options.integer("ranks-per-sample", 1, 1 << 16);
  core::ensure(
      slabs == ranks, core::Fault::config,
      "--slabs {0} is not the {1} of --ranks-per-sample, and several slabs on one rank are no longer supported: give "
      "--ranks-per-sample {0}, which also continues a stopped training of {0} slabs.",
      slabs, ranks);
  return std::to_string(slabs);
}

}  // namespace

void declare_training(core::Options& options) {
  options.add("data DIR", std::nullopt, "directory that cosmo-prep shard or import wrote");
  options.add("network NAME|FILE", "cosmoflow", core::meanings_in(nn::networks()) + "; or FILE.json",
              network_choices());
  declare_recipe(options);
  options.add("epochs N", "50", "passes over the training samples");
  options.add(
      "global-batch N", std::nullopt,
      "samples per step on all ranks together; the default falls to the number of training samples if "
      "there are fewer" +
          by_recipe("global-batch"));
  options.add("micro-batch N", std::nullopt,
              "samples that each rank works on at once [enough for one 128³ volume; for four if the network "
              "normalises, since it runs forward twice with several micro-batches per step]");
  dataset::declare_ranks_per_sample(options, "Neither weights nor losses depend on it, except for rounding");
  options.add_former({"slabs N"}, "ranks-per-sample", &ranks_of_slabs);
  options.add("seed N", "1", "seed of weights, order, symmetries and dropout");
  options.begin_group("Learning rate");
  options.add("learning-rate X", std::nullopt,
              "learning rate before any decay [adamw: 3e-3; larc-adam: 2e-3; sgd: 1e-3 × global batch / 64]");
  options.add("min-learning-rate X", std::nullopt,
              "learning rate after the decay [adamw: 1e-5, larc-adam: 1e-4, or --learning-rate if that is "
              "lower; sgd: --learning-rate]");
  options.add("decay", std::nullopt,
              "how the learning rate falls with the steps: cosine or linear" + by_recipe("decay"),
              core::names_in(kDecayShapes));
  options.add("decay-epochs X", std::nullopt,
              "epochs until the smallest learning rate is reached [= epochs]");
  options.add("warmup-epochs X", std::nullopt,
              "epochs over which the learning rate rises linearly from 0 [standard: a twentieth of "
              "--decay-epochs; paper: 0]");
  options.add("decay-at EPOCHS,...", std::nullopt, "EPOCHS,... after which the learning rate drops [never]");
  options.add("decay-by FACTORS,...", std::nullopt,
              "FACTORS,... of the rate without any drop, one per --decay-at");
  options.begin_group("Optimizer");
  options.add("optimizer", std::nullopt, core::meanings_in(optimizers()) + by_recipe("optimizer"),
              core::names_in(optimizers()));
  options.add("weight-decay X", "1e-4",
              "(adamw) share of the weights, times the learning rate, that each step removes");
  options.add(
      "larc", "paper",
      "(larc-adam) quantity that LARC scales: the gradient before Adam (paper), Adam's update (trust-ratio) "
      "or none (off)",
      core::names_in(kLarcModes));
  options.add("momentum X", "0.9", "(sgd) share of the last update that is kept");
  options.add("clip-norm X|off", std::nullopt,
              "largest norm of gradients, to which larger ones are scaled, or off" + by_recipe("clip-norm"));
  options.add("average X|off", std::nullopt,
              "decay per step of the weights' exponential average, which is then validated and used, or off" +
                  by_recipe("average"));
  options.begin_group("What is learned");
  options.add("choice-epochs N", std::nullopt,
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
  options.add("components N", "3", "(--loss mixture) number of Gaussians, 1 to 8");
  options.add("voxels", std::nullopt, "network input: " + dataset::voxel_transform_help(),
              dataset::voxel_transform_names());
  options.add("augment", std::nullopt,
              "change training samples at random: off, turns (the 48 symmetries of the cube), or rolls (also "
              "shift whole periodic boxes); on: whatever the data allow" +
                  by_recipe("augment"),
              {"on", "off", "turns", "rolls"});
  options.add("dropout X", std::nullopt,
              "probability with which dropout layers drop a value in training [the network's own]");
  options.add(
      "baseline", std::nullopt,
      "predictions to mix in, with shares chosen by validation: summary-statistics (a regression on each "
      "sample's P(k), P(k) of log(1 + n), moments and distribution of counts) or none [the network's own]",
      {"summary-statistics", "none"});
  options.add(
      "init-from DIR", std::nullopt,
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
      "of these and the same --ranks-per-sample, one sample at a time; a stopped training continues with the same bits on "
      "other ranks)",
      core::names_in(kSumOrders));
  options.begin_group("Stopping and continuing");
  options.add("time-limit MINUTES", std::nullopt,
              "minutes that this run may take, saving included; it ends after a step, and the same command "
              "continues from there [none]");
  options.add("checkpoint-minutes MINUTES", "10",
              "minutes after which the state is saved even within an epoch; 0: after every step");
  options.add_flag("resume", "continue the training in --output, even a finished one with more --epochs");
}

}  // namespace cosmo::train
