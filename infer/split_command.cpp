#include "infer/split_command.hpp"

#include <cmath>
#include <optional>

#include "core/error.hpp"
#include "core/output_directory.hpp"
#include "dataset/data_loader.hpp"
#include "infer/baseline.hpp"
#include "infer/ensemble.hpp"
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
constexpr int kBatch = 8;                    ///< samples at once where they are small
constexpr std::int64_t kLargestSample = 64 * 64 * 64;

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

int batch_of(const nn::ModelManifest& model) { return model.input.elements() > kLargestSample ? 1 : kBatch; }

/// The split to predict, opened; members refer to earlier ones.
struct Opened {
  std::optional<Ensemble> ensemble;
  std::optional<dataset::SplitReader> reader;
  std::optional<dataset::DataLoader> loader;
};

/// Predicts the split by the network. Collective.
NetworkPrediction predict(const core::Invocation& run, Opened& opened,
                          const std::vector<nn::ModelManifest>& models) {
  auto& [ensemble, reader, loader] = opened;
  core::Progress progress(run.log, "samples", reader->size());
  const dataset::SplitToPredict split{*reader, *loader, models.front().parameters};
  const std::vector<float> outputs =
      dataset::predict_split(run.comm, split, outputs_of(models), [&](const dataset::Batch& batch) {
        progress.advance(batch.samples_in_step);
        return ensemble->predict(batch.voxels);
      });
  return network_prediction(models, dataset::truths_of(split), outputs);
}

/// The network and the baselines.
Methods methods_of(const NetworkPrediction& network) {
  Methods methods = {network.method};
  methods.push_back(method_of("centre", "predict the centre", predict_centre(methods.front().subvolumes)));
  return methods;
}

/// Publishes predictions.csv, universes.csv and metrics.json. Collective.
Json publish(const core::Invocation& run, const NetworkPrediction& network, core::OutputDirectory& output) {
  const Methods methods = methods_of(network);
  Json metrics = metrics_json(methods);
  const std::string uncertainty = add_uncertainty(metrics, network);
  output.add_text("predictions.csv", predictions_csv(methods.front().subvolumes));
  output.add_text("universes.csv", predictions_csv(methods.front().universes));
  output.add_text("metrics.json", metrics.dump(1) + "\n");
  output.finish(run.tool, {{"predictions", "predictions.csv"}, {"metrics", metrics}}, run.facts);
  if (!run.options.flag("json")) {
    run.log.result(prediction_text(methods.front().universes, kPrintedUniverses) + "\n" +
                   error_text(methods) + "\n" + uncertainty);
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
}

void run_split(const core::Invocation& run) {
  run.comm.agree([&] {
    for (const char* name : {"model", "data", "output"}) (void)run.options.text(name);
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
    request.inputs.push_back(core::input_record(data, manifest.base, directory));
  });
  for (std::size_t m = 0; m < models.size(); ++m) {
    if (!models[m].complete) run.log.warn("{} is a training that has not come to its end.", directories[m]);
  }
  std::size_t memory = 0;
  for (const nn::ModelManifest& model : models) memory += memory_bytes(model, batch_of(model));
  const std::uint64_t samples = manifest.split(dataset::find_split(split)).samples;
  Json summary = {{"output", directory.string()},
                  {"id", request.id()},
                  {"samples", samples},
                  {"memory_bytes_per_rank", memory},
                  {"disk_bytes", samples * kBytesPerRow}};
  if (run.options.flag("dry-run")) {
    return run.report(summary,
                      fmt::format("{} samples of {}; about {} of memory a rank\n", samples, data,
                                  core::format_bytes(summary.at("memory_bytes_per_rank").get<double>())));
  }
  core::OutputDirectory output(run.comm, run.log, directory, request, {run.options.flag("force"), {}});
  summary["up_to_date"] = output.up_to_date();
  if (output.up_to_date()) {
    summary["metrics"] = output.manifest().details.at("metrics");
    return run.report(summary, fmt::format("{} is up to date\n", directory.string()));
  }
  Opened opened;
  run.comm.agree([&] {
    const int batch = batch_of(models.front());
    opened.ensemble.emplace(directories, batch);
    opened.reader.emplace(data, manifest, dataset::find_split(split), run.comm.rank(), run.comm.size());
    opened.loader.emplace(
        *opened.reader, transform_of(models.front()),
        dataset::LoaderConfig{run.comm.rank(), run.comm.size(), batch * run.comm.size(), batch});
  });
  summary["metrics"] = publish(run, predict(run, opened, models), output);
  run.report(summary,
             fmt::format("\n{}: predictions.csv, universes.csv, metrics.json\n", directory.string()));
}

}  // namespace cosmo::infer
