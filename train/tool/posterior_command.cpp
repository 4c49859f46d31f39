#include "train/tool/posterior_command.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/machine/memory.hpp"
#include "core/output/output_directory.hpp"
#include "core/run/stage.hpp"
#include "nn/model/ensemble.hpp"
#include "nn/model/inference.hpp"
#include "train/plan/training_data.hpp"
#include "train/posterior/fit_field_posterior.hpp"
#include "train/posterior/fit_posterior.hpp"

namespace cosmo::train {

namespace {

using core::ensure;
using core::Fault;
using core::Json;

namespace fs = std::filesystem;

/// A finished model and the directory that it is in.
struct FinishedModel {
  std::string directory;
  nn::ModelManifest model;
};

/// The data that models were trained on.
struct TrainingSplits {
  std::string directory;
  dataset::DatasetManifest manifest;
};

TrainingSplits read_data(const core::Options& options) {
  const std::string& directory = options.text("data");
  return {directory, dataset::load_dataset_manifest(directory)};
}

FinishedModel read_model(const std::string& directory) {
  core::Manifest manifest = core::load_manifest(directory, "train", nn::kPosteriorFile);
  const std::string source = (fs::path(directory) / core::kManifestName).string();
  try {
    return {directory, nn::parse_model_manifest(manifest, source)};
  } catch (const core::Error&) {
    if (manifest.details.erase("field_posterior") == 0) throw;
  }
  return {directory,
          nn::parse_model_manifest(std::move(manifest), source)};  // what is damaged is fitted again
}

void ensure_can_be_fitted(const FinishedModel& finished, const TrainingSplits& data) {
  const auto& [directory, model] = finished;
  ensure(model.complete, Fault::config,
         "{} holds a training that is not finished: go on with it; its posterior is fitted at its end.",
         directory);
  ensure(!model.diverged(), Fault::config,
         "{} holds a training that diverged: train again with a lower --learning-rate.", directory);
  if (!nn::takes_field_posterior(model)) {
    ensure(
        !model.target, Fault::config,
        "{} predicts the field {}, and --posterior-only is for models of parameters and of initial densities: leave it "
        "out.",
        directory, model.target ? model.target->quantity : "");
    ensure(nn::takes_posterior(model.output), Fault::config,
           "{} was trained with --loss {} and predicts a density already: leave --posterior-only out.",
           directory, model.output.option());
  }
  const core::InputRecord& trained_on = model.base.request.inputs.front();
  ensure(trained_on.id == data.manifest.base.request.id(), Fault::config,
         "{} is not the data that {} was trained on: give {}.", data.directory, directory,
         (fs::path(directory) / trained_on.path).lexically_normal().parent_path().string());
}

/// Throws Error{config} if none can be fitted. Collective.
FittedPosterior fit(const core::Invocation& run, const std::vector<FinishedModel>& models,
                    const TrainingSplits& data) {
  std::optional<dataset::SplitReader> training, validation;
  run.comm.agree([&] {
    const auto open = [&](dataset::Split split) {
      return dataset::SplitReader(data.directory, data.manifest, split, run.comm.rank(), run.comm.size());
    };
    training.emplace(open(dataset::Split::train));
    validation.emplace(open(dataset::Split::validation));
  });
  const nn::InputNormalisation& normalisation = models.front().model.normalisation;
  const std::string& voxels = normalisation.voxels;
  const dataset::VoxelTransform transform = data.manifest.transform(voxels, normalisation.smooth);
  std::vector<ModelToFit> to_fit;
  for (const FinishedModel& finished : models) to_fit.push_back({finished.directory, finished.model});
  FittedPosterior fitted = fit_posterior(
      run.comm, run.log, to_fit, {*training, *validation, transform, scale_of(data.manifest, voxels)});
  if (!fitted.obstacle.empty())
    throw core::Error(Fault::config, "No posterior can be fitted: " + fitted.obstacle, true);
  return fitted;
}

std::string plan_of(const TrainingSplits& data, dataset::Split split) {
  return fmt::format("{} {} universes of {}", data.manifest.split(split).simulations.size(),
                     split == dataset::Split::train ? "training" : "validation", data.directory);
}

// One model gets a file more.

Json facts_of_run(const core::Invocation& run, const std::string& directory) {
  Json facts = run.facts;
  try {
    const Json before = core::read_json(fs::path(directory) / "run.json");
    if (before.contains("training")) facts["training"] = before.at("training");
  } catch (const core::Error&) {  // it is not needed
  }
  return facts;
}

/// Whether the model has a sound posterior: one that is damaged or missing is fitted again.
bool has_posterior(const FinishedModel& finished) {
  if (nn::takes_field_posterior(finished.model)) return finished.model.field_posterior.has_value();
  try {
    return nn::read_posterior(finished.directory, finished.model).has_value();
  } catch (const core::Error& error) {
    if (error.fault() != Fault::format && error.fault() != Fault::io) throw;
    return false;
  }
}

/// The posterior of a model of initial densities. Collective.
nn::FieldPosterior fit_field(const core::Invocation& run, const FinishedModel& finished,
                             const TrainingSplits& data) {
  std::optional<dataset::SplitReader> validation;
  run.comm.agree([&] {
    validation.emplace(data.directory, data.manifest, dataset::Split::validation, run.comm.rank(),
                       run.comm.size());
  });
  const nn::InputNormalisation& reads = finished.model.normalisation;
  dataset::VoxelTransform transform = data.manifest.transform(
      reads.voxels, reads.smooth, {.reconstruct = reads.reconstruct, .tides = reads.tides});
  transform.velocity = reads.velocity;
  transform.tides_map = {reads.tides_offset, reads.tides_scale};
  std::optional<nn::FieldPosterior> fitted =
      fit_field_posterior(run.comm, run.log, {finished.directory, finished.model},
                          {*validation, transform, data.manifest.target_map()});
  if (!fitted)
    throw core::Error(
        Fault::config,
        "No posterior can be fitted: the validation universes of " + data.directory + " have no waves.",
        true);
  return *fitted;
}

/// Fits the posterior and adds it to the model. Collective.
void add_posterior(const core::Invocation& run, FinishedModel& finished, const TrainingSplits& data) {
  auto& [directory, model] = finished;
  core::OutputDirectory output(run.comm, run.log, directory, model.base.request, {});
  if (nn::takes_field_posterior(model)) {
    model.base.details["field_posterior"] = *(model.field_posterior = fit_field(run, finished, data));
    return output.finish("cosmo-train", model.base.details, facts_of_run(run, directory));
  }
  const FittedPosterior fitted = fit(run, {finished}, data);
  output.add(nn::kPosteriorFile, [&](const auto& path) { nn::write_posterior(path, *fitted.posterior); });
  model.base.details["posterior"] = model.posterior = fitted.facts;
  output.finish("cosmo-train", model.base.details, facts_of_run(run, directory));
}

void fit_one(const core::Invocation& run) {
  FinishedModel finished;
  TrainingSplits data;
  bool up_to_date = false;
  run.comm.agree([&] {
    run.options.refuse_all_but(
        {"posterior-only", "data", "output", "dry-run", "peer-timeout", "config", "threads", "json", "quiet"},
        "--posterior-only");
    finished = read_model(run.options.text("output"));
    data = read_data(run.options);
    ensure_can_be_fitted(finished, data);
    up_to_date = has_posterior(finished);
  });
  const bool dry_run = run.options.flag("dry-run");
  if (!up_to_date && !dry_run) add_posterior(run, finished, data);
  const std::string& target = finished.directory;
  const bool field = nn::takes_field_posterior(finished.model);
  Json facts = {{"output", target}, {"up_to_date", up_to_date}, {"posterior", finished.model.posterior}};
  if (field && finished.model.field_posterior) facts["posterior"] = *finished.model.field_posterior;
  if (dry_run) facts["dry_run"] = true;
  run.report(facts, up_to_date ? fmt::format("{} has a posterior already\n", target)
                    : dry_run  ? fmt::format(
                                     "would fit the posterior of {} to {}\n", target,
                                     plan_of(data, field ? dataset::Split::validation : dataset::Split::train))
                              : fmt::format("{}: {}\n", target,
                                            field ? "field_posterior of manifest.json" : nn::kPosteriorFile));
}

/// The posterior of several models, an output by itself.
class EnsembleStage : public core::Stage {
 public:
  explicit EnsembleStage(const core::Invocation& invocation) : Stage(invocation) {
    run.comm.agree([&] {
      run.options.refuse_all_but({"posterior-only", "model", "data", "output", "dry-run", "force",
                                  "peer-timeout", "config", "threads", "json", "quiet"},
                                 "--posterior-only");
      data_ = read_data(run.options);
      const std::vector<std::string> directories = nn::model_directories(run.options.text("model"));
      ensure(
          directories.size() > 1, Fault::usage,
          "Option --model names one directory: give several, or leave it out and give the model as --output.");
      std::vector<nn::ModelManifest> manifests;
      for (const std::string& directory : directories) {
        models_.push_back(read_model(directory));
        nn::ensure_of_parameters(models_.back().model, directory, "--posterior-only with --model");
        ensure_can_be_fitted(models_.back(), data_);
        manifests.push_back(models_.back().model);
      }
      nn::ensure_alike(manifests, directories);
      request = nn::ensemble_request(
          manifests, directories, core::input_record(data_.directory, data_.manifest.base, target), target);
    });
  }

  /// Builds the networks' primitives.
  core::Needs needs(const core::Manifest&) override {
    constexpr std::uint64_t kDisk = 4 << 20;
    std::size_t network = 0;
    for (const auto& [directory, model] : models_)
      network = std::max(network, nn::Network::planned_bytes(model.network, model.input, model.outputs(),
                                                             nn::batch_of(model), nn::Mode::inference,
                                                             nn::arithmetic_of(model)));
    return {.memory = core::kLibraryMemory + core::resident_memory() + network,
            .memory_cause = "Predicting the training universes needs",
            .memory_remedy = "use fewer ranks per node",
            .disk = kDisk,
            .disk_missing = kDisk,
            .disk_cause = "The posterior to write"};
  }
  core::Report outline() override {
    return {{{"models", models_.size()}},
            fmt::format("the posterior of {} models, fitted to {}\n", models_.size(),
                        plan_of(data_, dataset::Split::train))};
  }
  core::Report make(core::OutputDirectory& output) override {
    const FittedPosterior fitted = fit(run, models_, data_);
    output.add(nn::kPosteriorFile, [&](const auto& path) { nn::write_posterior(path, *fitted.posterior); });
    output.finish(run.tool, {{"parameters", models_.front().model.parameters}, {"posterior", fitted.facts}},
                  run.facts);
    return {{{"output", target}, {"posterior", fitted.facts}},
            fmt::format("{}: {} of {} models\n", target, nn::kPosteriorFile, models_.size())};
  }
  core::Report found(const core::Manifest& existing) override {
    return {{{"output", target}, {"posterior", existing.details.at("posterior")}}, ""};
  }

 private:
  TrainingSplits data_;
  std::vector<FinishedModel> models_;
};

}  // namespace

void declare_posterior(core::Options& options) {
  options.begin_group(core::kForExperts);
  options.add_flag(
      "posterior-only",
      "fit the posterior of the finished model in --output, from the --data that it was trained on, and train "
      "nothing; a training does so at its end");
  options.add(
      "model DIR,...", std::nullopt,
      "with --posterior-only: several finished models, separated by commas, whose one posterior is written to "
      "--output; cosmo-infer --model takes that directory");
}

void run_posterior(const core::Invocation& run) {
  if (!run.options.given("model")) return fit_one(run);
  EnsembleStage stage(run);
  core::run_stage(stage);
}

}  // namespace cosmo::train
