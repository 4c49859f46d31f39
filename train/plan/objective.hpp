#pragma once
// Section of a training's settings: what is learned from what, and how the best epoch is chosen.

#include <optional>
#include <string>

#include "core/error.hpp"
#include "core/run/options.hpp"
#include "core/universe/cosmic_web.hpp"
#include "dataset/quantity/target.hpp"
#include "dataset/quantity/voxel_transform.hpp"
#include "nn/output/output.hpp"
#include "train/plan/context.hpp"

namespace cosmo::train {

struct Objective {
  nn::Output output{"mae", 0};  ///< what the network predicts
  std::string target;           ///< the field that is predicted; empty: the parameters
  std::string voxels;           ///< name of the transform that makes the input
  double smooth;                ///< deviation of the low-pass before it [unit of the voxels]; 0: none
  double tides;        ///< smoothing of the density whose tides are read, too [unit of the voxels]; 0: none
  double reconstruct;  ///< smoothing of a reconstruction beside the input [unit of the voxels]; 0: none
  bool velocity;       ///< the network reads the velocities beside the counts, too
  bool by_channel;     ///< each channel of a field has its own offset and scale
  bool augment;        ///< change training samples at random
  bool roll;           ///< also shift whole periodic boxes
  std::size_t parameters;  ///< number of parameters that are predicted; none with a target
  int choice_epochs;  ///< number of epochs over which the validation loss that chooses the best is averaged

  static void declare(core::Options& options) {
    options.begin_group(core::kEveryDay);
    options.add("loss NAME[:N]", std::nullopt,
                core::meanings_in(nn::kLosses) + "; gaussian and mixture until version 0.5" +
                    by_recipe("loss") + "; classes: cross-entropy",
                core::names_in(nn::kLosses));
    options.add_former({"components N"}, "loss", "0.5", &with_components);
    options.begin_group("What is learned");
    options.add(
        "target NAME", std::nullopt,
        fmt::format(
            "predict a field on the voxels of the input instead of parameters, which the data have beside their "
            "counts (cosmo-prep shard --target): {}; where they have velocities (--velocity), too, the network reads "
            "these as three more channels",
            core::meanings_in(dataset::kTargets)),
        core::names_in(dataset::kTargets));
    options.add(
        "tides R|off", "off",
        "give the network the tides of the counts as three more channels: the eigenvalues of the tidal tensor of "
        "their density, smoothed by a Gaussian of standard deviation R, in the unit of the voxels, at most a "
        "quarter of the box; for --target, in whole periodic boxes");
    options.add(
        "reconstruct R|off", "off",
        "give the network a reconstruction of the initial density from the counts as a second channel: mass is moved "
        "back twice, as the density smoothed by a Gaussian of standard deviation 2R, then R, moves it in linear "
        "theory; R in the unit of the voxels, best about one voxel, at most a quarter of the box; for --target, in whole "
        "periodic boxes");
    options.add("voxels", std::nullopt, "network input: " + dataset::voxel_transform_help(),
                dataset::voxel_transform_names());
    options.add(
        "smooth R|off", std::nullopt,
        "smooth whole periodic boxes first, by a Gaussian of standard deviation R, in Mpc/h, or Mpc as the "
        "data are; hides scales that simulators disagree about" +
            by_recipe("smooth"));
    options.add(
        "augment", std::nullopt,
        "change training samples at random: off, turns (the 48 symmetries of the cube), or rolls (also shift "
        "whole periodic boxes); on: whatever the data allow" +
            by_recipe("augment"),
        {"on", "off", "turns", "rolls"});
    options.begin_group(core::kForExperts);
    options.add("choice-epochs N", std::nullopt,
                "number of epochs over which the validation loss that chooses the best epoch is averaged" +
                    by_recipe("choice-epochs"));
  }

  /// Throws Error{usage} or Error{config}.
  static Objective read(const core::Options& options, const PlanContext& context) {
    const dataset::DatasetManifest& data = context.data;
    Objective objective;
    objective.read_target(options, data);
    objective.voxels = options.given("voxels") ? options.choice("voxels")
                                               : dataset::default_voxel_transform(data.spec.input.kind);
    objective.smooth = length_or_off(options, "smooth");
    objective.tides = length_or_off(options, "tides");
    objective.reconstruct = length_or_off(options, "reconstruct");
    for (const char* name : {"tides", "reconstruct"}) {
      core::ensure(options.text(name) == "off" || !objective.target.empty(), core::Fault::usage,
                   "Option --{} applies only with --target: leave it out.", name);
    }
    objective.velocity = !objective.target.empty() && data.spec.velocity.has_value();
    (void)objective.transform(data);
    objective.by_channel = data.scaled_by_channel();
    const std::string& augment = options.choice("augment");
    const bool whole_boxes =
        data.subvolumes == 1 && data.origin.cut;  // imported data may have been cut from anything
    core::ensure(
        augment != "rolls" || whole_boxes, core::Fault::config,
        "--augment rolls is for whole periodic boxes, but {} holds others: give turns, or shard with "
        "--subvolumes 1.",
        options.text("data"));
    objective.augment = augment != "off";
    // Trainings from before rolls existed recorded "on" and meant turns.
    objective.roll =
        whole_boxes && (augment == "rolls" || (augment == "on" && context.recipe.name != "paper"));
    objective.choice_epochs = static_cast<int>(options.integer("choice-epochs", 1, kMostEpochs));
    return objective;
  }

  /// How voxels of the data become the network's input.
  dataset::VoxelTransform transform(const dataset::DatasetManifest& data) const {
    dataset::VoxelTransform made =
        data.transform(voxels, smooth, {.reconstruct = reconstruct, .tides = tides});
    if (velocity) made.velocity = data.velocity_scale();
    return made;
  }
  /// How voxels of the target become the numbers that the network predicts, if there is a target.
  std::optional<dataset::VoxelMap> target_map(const dataset::DatasetManifest& data) const {
    return target.empty() ? std::nullopt : std::optional(data.target_map());
  }

  void identify(core::Json& config) const {
    output.identify(config);
    if (!target.empty()) config["target"] = target;
    config["voxels"] = voxels;
    if (velocity) config["velocity"] = true;
    if (tides > 0) config["tides"] = tides;
    if (tides > 0 && output.has_classes()) config["tides_from_threshold"] = true;
    if (reconstruct > 0) config["reconstruction"] = reconstruct;
    if (smooth > 0) config["smooth"] = smooth;
    if (by_channel) config["voxels_by_channel"] = true;
    config["augment"] = augment;
    if (roll) config["roll"] = true;
    if (choice_epochs > 1) config["choice_epochs"] = choice_epochs;
  }

 private:
  /// The value of an option for a length; 0 if it is off.
  static double length_or_off(const core::Options& options, const char* name) {
    const double length = options.number_or_off(name, 0);
    core::ensure(options.text(name) == "off" || length > 0, core::Fault::config,
                 "--{} {} is not positive: give a length, or off.", name, options.text(name));
    return length;
  }

  /// Sets what is predicted.
  void read_target(const core::Options& options, const dataset::DatasetManifest& data) {
    const core::Options::NamedValue loss = options.named_value("loss");
    if (!options.given("target")) {
      parameters = data.spec.parameters.size();
      core::ensure(parameters > 0, core::Fault::config,
                   "No parameter varies in {}: give --target initial or web, to learn a field.",
                   options.text("data"));
      output = nn::Output::requested(loss, static_cast<int>(parameters));
      return;
    }
    target = options.choice("target");
    core::ensure(data.spec.target && data.spec.target->name == target, core::Fault::config,
                 "{} has no --target {} beside its counts: make it with cosmo-prep shard --target {}.",
                 options.text("data"), target, target);
    core::ensure(
        data.spec.input.kind == dataset::VoxelKind::counts, core::Fault::config,
        "{} holds fields, and --target {} is predicted from counts: import them with --voxels counts.",
        options.text("data"), target);
    core::ensure(data.subvolumes == 1, core::Fault::config,
                 "{} holds sub-volumes, and --target {} is predicted in whole periodic boxes: shard with "
                 "--subvolumes 1.",
                 options.text("data"), target);
    parameters = 0;
    output = data.spec.target->kind == dataset::VoxelKind::classes
                 ? of_classes(options, data)
                 : nn::Output::requested(loss, nn::Shape{data.spec.target->channels(), data.spec.side()});
  }

  /// The output for classes, whose loss is cross-entropy unless another is asked for.
  static nn::Output of_classes(const core::Options& options, const dataset::DatasetManifest& data) {
    const core::WebVolumes& volumes = data.target.web;
    for (std::size_t c = 0; c < volumes.voxels.size(); ++c)
      core::ensure(
          volumes.voxels[c] > 0, core::Fault::config,
          "No voxel of the training universes of {} is a {}, so that nothing can be learned of this class: simulate "
          "with another --web, with larger boxes, or more universes.",
          options.text("data"), core::kWebClasses[c]);
    return nn::Output::requested(
        options.chosen("loss") ? options.named_value("loss") : core::Options::NamedValue{"cross-entropy", {}},
        nn::Shape{core::kWebClasses.size(), data.spec.side()}, volumes.shares());
  }

  /// --loss for --components.
  static std::string with_components(const core::Options& options) {
    const core::Options complete = with_recipe(options);
    const core::Options::NamedValue loss = complete.named_value("loss");
    core::ensure(nn::default_components(loss.name) > 0 && !loss.value, core::Fault::usage,
                 "Option --components applies only with --loss mixture: leave it out with {}.",
                 complete.text("loss"));
    return fmt::format("{}:{}", loss.name, options.integer("components", 1, nn::kMostComponents));
  }
};

}  // namespace cosmo::train
