#include "train/tool/posterior_command.hpp"

#include <optional>

#include "core/error.hpp"
#include "core/output/output_directory.hpp"
#include "train/plan/training_data.hpp"
#include "train/posterior/fit_posterior.hpp"

namespace cosmo::train {

namespace {

using core::ensure;
using core::Fault;
using core::Json;

namespace fs = std::filesystem;

/// The finished model and its data.
struct PosteriorTask {
  std::string directory, data_directory;
  nn::ModelManifest model;
  dataset::DatasetManifest data;
};

void ensure_can_be_fitted(const PosteriorTask& task) {
  const auto& [directory, data_directory, model, data] = task;
  ensure(model.complete, Fault::config,
         "{} holds a training that is not finished: go on with it; its posterior is fitted at its end.",
         directory);
  ensure(!model.diverged(), Fault::config,
         "{} holds a training that diverged: train again with a lower --learning-rate.", directory);
  ensure(nn::takes_posterior(model.output), Fault::config,
         "{} was trained with --loss {} and predicts a density already: leave --posterior-only out.",
         directory, model.output.option());
  const core::InputRecord& trained_on = model.base.request.inputs.front();
  ensure(trained_on.id == data.base.request.id(), Fault::config,
         "{} is not the data that {} was trained on: give {}.", data_directory, directory,
         (fs::path(directory) / trained_on.path).lexically_normal().parent_path().string());
}

PosteriorTask read_posterior_task(const core::Options& options) {
  options.refuse_all_but(
      {"posterior-only", "data", "output", "dry-run", "peer-timeout", "config", "threads", "json", "quiet"},
      "--posterior-only");
  PosteriorTask task{options.text("output"), options.text("data"), {}, {}};
  task.model = nn::parse_model_manifest(core::load_manifest(task.directory, "train", nn::kPosteriorFile),
                                        (fs::path(task.directory) / core::kManifestName).string());
  task.data = dataset::load_dataset_manifest(task.data_directory);
  ensure_can_be_fitted(task);
  return task;
}

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
bool has_posterior(const PosteriorTask& task) {
  try {
    return nn::read_posterior(task.directory, task.model).has_value();
  } catch (const core::Error& error) {
    if (error.fault() != Fault::format && error.fault() != Fault::io) throw;
    return false;
  }
}

/// Fits the posterior and adds it to the model. Collective.
void fit_and_publish(const core::Invocation& run, PosteriorTask& task) {
  nn::ModelManifest& model = task.model;
  core::OutputDirectory output(run.comm, run.log, task.directory, model.base.request, {});
  std::optional<dataset::SplitReader> training, validation;
  run.comm.agree([&] {
    const auto open = [&](dataset::Split split) {
      return dataset::SplitReader(task.data_directory, task.data, split, run.comm.rank(), run.comm.size());
    };
    training.emplace(open(dataset::Split::train));
    validation.emplace(open(dataset::Split::validation));
  });
  const std::string& voxels = model.normalisation.voxels;
  const dataset::VoxelTransform transform = task.data.transform(voxels);
  FittedPosterior fitted = fit_posterior(run.comm, run.log, task.directory, model,
                                         {*training, *validation, transform, scale_of(task.data, voxels)});
  if (!fitted.obstacle.empty())
    throw core::Error(Fault::config, "No posterior can be fitted: " + fitted.obstacle, true);
  output.add(nn::kPosteriorFile, [&](const auto& path) { nn::write_posterior(path, *fitted.posterior); });
  model.base.details["posterior"] = model.posterior = fitted.facts;
  output.finish("cosmo-train", model.base.details, facts_of_run(run, task.directory));
}

}  // namespace

void declare_posterior(core::Options& options) {
  options.begin_group(core::kForExperts);
  options.add_flag(
      "posterior-only",
      "fit the posterior of the finished model in --output, from the --data that it was trained on, and train "
      "nothing; a training does so at its end");
}

void run_posterior(const core::Invocation& run) {
  std::optional<PosteriorTask> task;
  bool up_to_date = false;
  run.comm.agree([&] {
    task.emplace(read_posterior_task(run.options));
    up_to_date = has_posterior(*task);
  });
  const bool dry_run = run.options.flag("dry-run");
  if (!up_to_date && !dry_run) fit_and_publish(run, *task);
  Json facts = {
      {"output", task->directory}, {"up_to_date", up_to_date}, {"posterior", task->model.posterior}};
  if (dry_run) facts["dry_run"] = true;
  run.report(facts, up_to_date ? fmt::format("{} has a posterior already\n", task->directory)
                    : dry_run  ? fmt::format("would fit the posterior of {} to {} training universes of {}\n",
                                             task->directory,
                                             task->data.split(dataset::Split::train).simulations.size(),
                                             task->data_directory)
                               : fmt::format("{}: {}\n", task->directory, nn::kPosteriorFile));
}

}  // namespace cosmo::train
