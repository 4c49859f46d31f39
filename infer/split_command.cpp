#include "infer/split_command.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/error.hpp"
#include "core/memory.hpp"
#include "core/output_directory.hpp"
#include "core/timer.hpp"
#include "dataset/data_loader.hpp"
#include "infer/comparison.hpp"
#include "infer/costs.hpp"
#include "infer/ensemble.hpp"
#include "infer/familiarity.hpp"
#include "infer/method.hpp"
#include "infer/prediction_file.hpp"
#include "infer/tables.hpp"
#include "infer/uncertainty.hpp"

namespace cosmo::infer {

using core::Fault;
using core::Json;

namespace {

constexpr std::size_t kPrintedUniverses = 40;
constexpr std::uint64_t kBytesPerRow = 200;  ///< of predictions.csv, about

void ensure_fit(const nn::ModelManifest& model, const dataset::SampleSpec& spec, const std::string& data) {
  core::ensure(spec.channels() == model.input.channels && spec.side() == model.input.size, Fault::config,
               "{} has samples of {} x {}³ voxels and the model reads {} x {}³: give the kind of data it was "
               "trained on.",
               data, spec.channels(), spec.side(), model.input.channels, model.input.size);
  core::ensure(
      spec.redshifts == model.redshifts, Fault::config,
      "{} has channels at z = {} and the model reads z = {}: give the kind of data it was trained on.", data,
      fmt::join(spec.redshifts, ", "), fmt::join(model.redshifts, ", "));
  core::ensure(spec.parameters.names == model.parameters.names, Fault::config,
               "{} varies {} and the model predicts {}: give the kind of data it was trained on.", data,
               fmt::join(spec.parameters.names, ", "), fmt::join(model.parameters.names, ", "));
  const core::Length voxel = spec.voxel_size(), trained = model.normalisation.voxel_size;
  core::ensure(
      voxel.unit == trained.unit && std::abs(voxel.value / trained.value - 1) < 1e-6, Fault::config,
      "{} has voxels of {} {} and the model was trained on {} {}: give the kind of data it was trained "
      "on.",
      data, voxel.value, name_of(voxel.unit), trained.value, name_of(trained.unit));
}

/// The split to predict, opened; members refer to earlier ones.
struct Opened {
  std::optional<Ensemble> ensemble;
  std::optional<dataset::SplitReader> reader;
  std::optional<dataset::DataLoader> loader;
};

dataset::LoaderConfig loader_of(const core::Communicator& comm, const nn::ModelManifest& model) {
  const int batch = batch_of(model);
  return {comm.rank(), comm.size(), batch * comm.size(), batch};
}

/// Predicts the split by the network. Collective.
NetworkPrediction predict(const core::Invocation& run, Opened& opened,
                          const std::vector<nn::ModelManifest>& models, Costs& costs) {
  auto& [ensemble, reader, loader] = opened;
  core::Progress progress(run.log, "samples", reader->size());
  const core::Timer timer;
  const dataset::SplitToPredict split{*reader, *loader, models.front().parameters};
  const std::vector<float> outputs =
      dataset::predict_split(run.comm, split, outputs_of(models), [&](const dataset::Batch& batch) {
        progress.advance(batch.samples_in_step);
        return ensemble->predict(batch.voxels);
      });
  costs.note(run.comm, models, reader->size(), timer.seconds(), loader->statistics());
  return network_prediction(models, dataset::truths_of(split), outputs);
}

/// Warns of samples unlike the training data.
void warn_of_strangers(const core::Log& log, const nn::ModelManifest& model, dataset::SplitReader& split) {
  for (const std::string& warning : compare_with_training(model, split)) log.warn("{}", warning);
}

/// What was found out of a split.
struct Findings {
  NetworkPrediction network;
  Methods methods;  ///< the network and the baselines
  Forecasts forecasts;
  Costs costs;
};

/// Publishes predictions.csv, universes.csv and metrics.json. Collective.
Json publish(const core::Invocation& run, const Findings& findings, core::OutputDirectory& output) {
  const auto& [network, methods, forecasts, costs] = findings;
  Json metrics = metrics_json(methods), facts = run.facts;
  const core::ParameterSpace& space = methods.front().universes.parameters;
  metrics["forecast"] = to_json(forecasts.universes, space);
  metrics["per_subvolume"]["forecast"] = to_json(forecasts.subvolumes, space);
  const std::string uncertainty = add_uncertainty(metrics, network);
  facts["inference"] = costs.to_json();
  output.add_text("predictions.csv", predictions_csv(methods.front().subvolumes));
  output.add_text("universes.csv", predictions_csv(methods.front().universes));
  output.add_text("metrics.json", metrics.dump(1) + "\n");
  output.finish(run.tool, {{"predictions", "predictions.csv"}, {"metrics", metrics}}, facts);
  if (!run.options.flag("json")) {
    run.log.result(prediction_text(methods.front().universes, kPrintedUniverses) + "\n" +
                   error_text(methods, forecasts.universes) + "\n" + paired_text(methods) + "\n" +
                   uncertainty);
  }
  return metrics;
}

/// What identifies the predictions, the data aside.
core::Request request_of(const std::string& split, const std::vector<nn::ModelManifest>& models,
                         const std::vector<std::string>& directories, const std::filesystem::path& output) {
  core::Request request{"infer", {{"split", split}, {"checkpoint", models.front().best().sha256}}, {}};
  if (models.size() > 1) request.config["checkpoint"] = Json::array();
  for (std::size_t m = 0; m < models.size(); ++m) {
    request.inputs.push_back(core::input_record(directories[m], models[m].base, output));
    if (models.size() > 1) request.config["checkpoint"].push_back(models[m].best().sha256);
  }
  return request;
}

}  // namespace

void declare_split(core::Options& options) {
  options.add("data", std::nullopt, "directory that cosmo-prep shard wrote");
  options.add("split", "test", "train, validation or test");
  declare_baselines(options);
}

void run_split(const core::Invocation& run) {
  run.comm.agree([&] {
    for (const char* name : {"model", "data", "output"}) (void)run.options.text(name);
    for (const char* name : {"box", "particle-type", "length-unit"}) {
      core::ensure(!run.options.chosen(name), Fault::usage, "Option --{} is of --input: leave it out.", name);
    }
  });
  const std::string& data = run.options.text("data");
  const std::filesystem::path directory = run.options.text("output");
  std::string split;
  std::vector<nn::ModelManifest> models;
  std::vector<std::string> directories;
  dataset::DatasetManifest manifest;
  core::Request request;
  run.comm.agree([&] {
    split = run.options.choice("split", {"train", "validation", "test"});
    directories = model_directories(run.options.text("model"));
    models = load_models(directories);
    manifest = dataset::load_dataset_manifest(data);
    ensure_fit(models.front(), manifest.spec, data);
    request = request_of(split, models, directories, directory);
    request.config["baselines"] = chosen_baselines(run.options);
    request.inputs.push_back(core::input_record(data, manifest.base, directory));
  });
  for (std::size_t m = 0; m < models.size(); ++m) {
    if (!models[m].complete) run.log.warn("{} is a training that has not come to its end.", directories[m]);
  }
  const std::uint64_t samples = manifest.split(dataset::find_split(split)).samples;
  Json summary = {{"output", directory.string()},
                  {"id", request.id()},
                  {"samples", samples},
                  {"disk_bytes", samples * kBytesPerRow}};
  Costs costs;
  const auto plan_memory = [&] {  // which builds the network's primitives
    std::uint64_t own = 0;
    run.comm.agree([&] { own = memory_bytes(models, manifest.spec, loader_of(run.comm, models.front())); });
    costs.memory_predicted = run.comm.max(own);
    const std::uint64_t later =
        core::resident_memory() + baseline_memory_bytes(run.options, manifest, samples);
    summary["memory_bytes_per_rank"] = std::max(costs.memory_predicted, run.comm.max(later));
  };
  if (run.options.flag("dry-run")) {
    plan_memory();
    return run.report(summary,
                      fmt::format("{} samples of {}{}; about {} of memory a rank\n", samples, data,
                                  baseline_plan(run.options, manifest),
                                  core::format_bytes(summary.at("memory_bytes_per_rank").get<double>())));
  }
  core::OutputDirectory output(run.comm, run.log, directory, request, {run.options.flag("force"), {}});
  summary["up_to_date"] = output.up_to_date();
  if (output.up_to_date()) {
    summary["metrics"] = output.manifest().details.at("metrics");
    return run.report(summary, fmt::format("{} is up to date\n", directory.string()));
  }
  plan_memory();
  run.log.info("about {} of memory a rank",
               core::format_bytes(summary.at("memory_bytes_per_rank").get<double>()));
  Opened opened;
  run.comm.agree([&] {
    opened.reader.emplace(data, manifest, dataset::find_split(split), run.comm.rank(), run.comm.size());
    if (run.comm.is_root()) warn_of_strangers(run.log, models.front(), *opened.reader);
    opened.ensemble.emplace(directories, batch_of(models.front()));
    opened.loader.emplace(*opened.reader, transform_of(models.front()), loader_of(run.comm, models.front()));
  });
  Findings findings{predict(run, opened, models, costs), {}, {}, costs};
  opened.loader.reset();
  opened.ensemble.reset();  // what they took is there for the baselines
  findings.methods = {findings.network.method};
  findings.forecasts = add_baselines(run, {data, manifest, *opened.reader}, findings.methods);
  summary["metrics"] = publish(run, findings, output);
  summary["inference"] = costs.to_json();
  run.log.info("{}", costs.text());
  run.report(summary,
             fmt::format("\n{}: predictions.csv, universes.csv, metrics.json\n", directory.string()));
}

}  // namespace cosmo::infer
