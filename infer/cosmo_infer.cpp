// cosmo-infer: cosmological parameters from particle counts, with honest errors.

#include <cmath>
#include <optional>

#include "core/error.hpp"
#include "core/output_directory.hpp"
#include "core/tool.hpp"
#include "dataset/data_loader.hpp"
#include "infer/baseline.hpp"
#include "infer/evaluation.hpp"
#include "infer/prediction_file.hpp"
#include "infer/predictor.hpp"
#include "infer/tables.hpp"
#include "infer/universe.hpp"
#include "train/nn/network.hpp"

namespace {

using namespace cosmo;
using core::Fault;
using core::Json;

constexpr std::size_t kPrintedUniverses = 40;
constexpr std::uint64_t kBytesPerRow = 200;  ///< of predictions.csv, about
constexpr int kBatch = 8;                    ///< samples at once where they are small
constexpr std::int64_t kLargestSample = 64 * 64 * 64;

void declare(core::Options& options) {
  options.add("model", std::nullopt, "directory that cosmo-train wrote");
  options.add("data", std::nullopt, "directory that cosmo-prep shard wrote");
  options.add("split", "test", "train, validation or test");
  options.add("input", std::nullopt,
              "a counts file: print the parameters of this one universe; needs no --output");
}

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

/// The metrics of the network and of the baseline for one table of predictions.
struct Metrics {
  explicit Metrics(const dataset::PredictionTable& table)
      : parameters(table.parameters),
        network(infer::evaluate(table)),
        centre(infer::evaluate(infer::predict_centre(table))) {}

  Json to_json() const {
    return {{"network", infer::to_json(parameters, network)},
            {"baselines", {{"centre", infer::to_json(parameters, centre)}}}};
  }

  const core::ParameterSpace& parameters;
  std::vector<infer::ParameterMetrics> network;
  std::vector<infer::ParameterMetrics> centre;
};

int batch_of(const nn::ModelManifest& model) { return model.input.elements() > kLargestSample ? 1 : kBatch; }

void predict_one(const core::Invocation& run) {
  std::optional<infer::Predictor> predictor;
  std::optional<infer::UniversePrediction> prediction;
  const bool dry_run = run.options.flag("dry-run");
  run.comm.agree([&] {
    for (const char* name : {"data", "output"}) {
      core::ensure(!run.options.given(name), Fault::usage,
                   "Options --input and --{} exclude each other: give one.", name);
    }
    predictor.emplace(run.options.text("model"), 1);
    if (!dry_run) prediction = infer::predict_universe(*predictor, run.options.text("input"));
  });
  Json summary = {{"input", run.options.text("input")}};
  if (dry_run) return run.report(summary, fmt::format("one universe, {}\n", run.options.text("input")));
  summary["subvolumes"] = prediction->subvolumes;
  const std::vector<std::string>& names = predictor->model().parameters.names;
  for (std::size_t p = 0; p < names.size(); ++p) {
    summary["parameters"][names[p]] = {{"value", prediction->value[p]}, {"error", prediction->error[p]}};
  }
  run.report(summary, infer::universe_text(predictor->model(), *prediction));
}

/// The split to predict, opened; members refer to earlier ones.
struct Opened {
  std::optional<infer::Predictor> predictor;
  std::optional<dataset::SplitReader> reader;
  std::optional<dataset::DataLoader> loader;
};

/// Predicts the split and publishes predictions.csv and metrics.json. Collective.
Json evaluate_split(const core::Invocation& run, Opened& opened, core::OutputDirectory& output) {
  auto& [predictor, reader, loader] = opened;
  core::Progress progress(run.log, "samples", reader->size());
  const dataset::PredictionTable subvolumes = dataset::predict_split(
      run.comm, {*reader, *loader, predictor->model().parameters}, [&](const dataset::Batch& batch) {
        progress.advance(batch.samples_in_step);
        return predictor->predict(batch.voxels);
      });
  const dataset::PredictionTable universes = dataset::per_universe(subvolumes);
  const Metrics of_universes(universes);
  Json metrics = of_universes.to_json();
  metrics["samples"] = subvolumes.rows.size();
  metrics["universes"] = universes.rows.size();
  metrics["per_subvolume"] = Metrics(subvolumes).to_json();
  output.add_text("predictions.csv", infer::predictions_csv(subvolumes));
  output.add_text("metrics.json", metrics.dump(1) + "\n");
  output.finish(run.tool, {{"predictions", "predictions.csv"}, {"metrics", metrics}}, run.facts);
  if (!run.options.flag("json")) {
    run.log.result(infer::prediction_text(universes, kPrintedUniverses) + "\n" +
                   infer::error_text(universes.parameters, of_universes.network, of_universes.centre));
  }
  return metrics;
}

void predict_split(const core::Invocation& run) {
  const std::string& data = run.options.text("data");
  const std::string& model_path = run.options.text("model");
  const std::filesystem::path directory = run.options.text("output");
  std::string split;
  nn::ModelManifest model;
  dataset::DatasetManifest manifest;
  core::Request request;
  run.comm.agree([&] {
    split = run.options.choice("split", {"train", "validation", "test"});
    model = nn::load_model_manifest(model_path);
    manifest = dataset::load_dataset_manifest(data);
    ensure_fit(model, manifest.spec, data);
    request = {"infer",
               {{"split", split}, {"checkpoint", model.best().sha256}},
               {core::input_record(model_path, model.base, directory),
                core::input_record(data, manifest.base, directory)}};
  });
  if (!model.complete) run.log.warn("{} is a training that has not come to its end.", model_path);
  const std::uint64_t samples = manifest.split(dataset::find_split(split)).samples;
  Json summary = {{"output", directory.string()},
                  {"id", request.id()},
                  {"samples", samples},
                  {"memory_bytes_per_rank", infer::memory_bytes(model, batch_of(model))},
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
    const int batch = batch_of(model);
    opened.predictor.emplace(model_path, batch);
    opened.reader.emplace(data, manifest, dataset::find_split(split), run.comm.rank(), run.comm.size());
    opened.loader.emplace(
        *opened.reader, opened.predictor->transform(),
        dataset::LoaderConfig{run.comm.rank(), run.comm.size(), batch * run.comm.size(), batch});
  });
  summary["metrics"] = evaluate_split(run, opened, output);
  run.report(summary, fmt::format("\n{}: predictions.csv, metrics.json\n", directory.string()));
}

void run_infer(const core::Invocation& run) {
  if (run.options.given("input")) return predict_one(run);
  run.comm.agree([&] {
    for (const char* name : {"model", "data", "output"}) (void)run.options.text(name);
  });
  predict_split(run);
}

}  // namespace

int main(int argc, char** argv) {
  return core::run_tool(argc, argv,
                        {"cosmo-infer",
                         "cosmological parameters from particle counts, with honest errors",
                         {nn::library_version()},
                         {{"", "predicts a split of a dataset, or one universe",
                           "cosmo-infer --model model --data data --split test --output predictions", true,
                           &declare, &run_infer}}});
}
