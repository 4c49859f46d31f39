#include "train/tool/task.hpp"

#include <initializer_list>
#include <vector>

#include "core/error.hpp"
#include "dataset/load/staging.hpp"
#include "train/log/mlperf_log.hpp"
#include "train/optimizer/weight_average.hpp"

namespace cosmo::train {

using core::Fault;

void declare_task(core::Options& options) {
  declare_training(options);
  options.begin_group("Ranks and memory");
  options.add("readers N", "1", "threads per rank that read ahead of the training; 0: none");
  options.add("stage DIR", std::nullopt,
              "directory on a fast local disk; each node copies the shards there first and reads them there");
  options.begin_group(core::kForExperts);
  dataset::declare_allow_leak(options);
  options.add(
      "mllog FILE", std::nullopt,
      "file for MLPerf's log of this run, outside its directories; an earlier log is replaced [none]");
}

namespace {

/// The directories given by the options in `names`.
std::vector<RunDirectory> directories_of(const core::Options& options,
                                         std::initializer_list<const char*> names) {
  std::vector<RunDirectory> directories;
  for (const char* name : names) {
    if (options.given(name)) directories.push_back({name, options.text(name)});
  }
  return directories;
}

/// Throws Error if the MLPerf log would destroy something or cannot be written.
std::string read_mllog(const core::Invocation& run) {
  if (!run.comm.is_root() || !run.options.given("mllog")) return "";
  check_log_path(run.options.text("mllog"), directories_of(run.options, {"data", "output", "stage"}));
  return run.options.text("mllog");
}

/// Throws Error if shards cannot be staged.
void check_stage(const core::Options& options, const dataset::DatasetManifest& data) {
  if (!options.given("stage")) return;
  ensure_outside("stage", options.text("stage"), directories_of(options, {"data", "output"}));
  dataset::check_stage(options.text("stage"), data);
}

}  // namespace

Task read_task(const core::Invocation& run) {
  Task task;
  run.comm.agree([&] {
    task.mllog = read_mllog(run);
    task.readers = static_cast<int>(run.options.integer("readers", 0, 64));
    task.data = dataset::load_dataset_manifest(run.options.text("data"));
    core::ensure(task.data.split(dataset::Split::train).samples > 0, core::Fault::config,
                 "{} of --data is test data alone, from cosmo-prep shard --test-for: give data to train on.",
                 run.options.text("data"));
    dataset::refuse_leak(task.data.leak(), run.options.text("data"), run.options.flag("allow-leak"));
    task.plan = read_training_plan(run.options, task.data, run.comm.size());
    check_stage(run.options, task.data);
  });
  run.comm.agree([&] {
    task.request = request_of(task.plan, task.data);
    if (!run.options.given("init-from")) return;
    task.pretrained =
        load_pretrained(run.options.text("init-from"), task.plan, task.data, run.options.flag("allow-leak"));
    const nn::ModelManifest& model = task.pretrained->model;
    task.request.inputs.push_back(
        core::input_record(task.pretrained->directory, model.base, task.plan.directory));
    task.request.config["init_from"] = model.best().sha256;
  });
  return task;
}

nn::ModelManifest manifest_of(const Task& task) {
  const auto& [data, plan, request, pretrained, readers, mllog] = task;
  const dataset::VoxelTransform transform = plan.objective.transform(data);
  nn::ModelManifest model{};
  model.network = plan.network.spec;
  if (plan.method.average > 0) model.weights = WeightAverage::kGroup;
  model.precision = plan.formats.precision.name;
  model.input = {{data.spec.input.channels(), data.spec.side()},
                 data.spec.input.redshifts,
                 data.spec.voxel_size(),
                 data.spec.line_of_sight};
  if (plan.objective.target.empty()) {
    model.parameters = data.spec.parameters;
  } else {
    const dataset::VoxelMap map = data.target_map();
    const dataset::Quantity& target = *data.spec.target;
    model.target = {target.name, target.redshifts, map.offset, map.scale, data.target.web, target.web};
  }
  model.output = plan.objective.output;
  model.epochs = plan.epochs;
  model.choice_epochs = plan.objective.choice_epochs;
  model.normalisation = {transform.name,
                         {},
                         {},
                         data.spec.mean_count,
                         plan.objective.smooth,
                         plan.objective.reconstruct,
                         plan.objective.tides,
                         transform.velocity,
                         transform.tides_map.offset,
                         transform.tides_map.scale};
  for (const dataset::VoxelMap& map : transform.maps) {
    model.normalisation.offset.push_back(map.offset);
    model.normalisation.scale.push_back(map.scale);
  }
  model.validation.universes = static_cast<int>(data.split(dataset::Split::validation).simulations.size());
  model.validation.subvolumes = static_cast<int>(data.subvolumes);
  model.facts = data.facts;
  model.seeds = {data.split(dataset::Split::train).seeds, data.split(dataset::Split::validation).seeds};
  if (pretrained) {  // universes that the pretrained model has seen count, too
    const nn::SeenSeeds& earlier = pretrained->model.seeds;
    model.seeds.train.insert(model.seeds.train.end(), earlier.train.begin(), earlier.train.end());
    model.seeds.validation.insert(model.seeds.validation.end(), earlier.validation.begin(),
                                  earlier.validation.end());
  }
  return model;
}

}  // namespace cosmo::train
