#include "infer/tool/input_command.hpp"

#include <algorithm>
#include <iterator>
#include <optional>

#include "core/error.hpp"
#include "core/hdf5/foreign.hpp"
#include "core/machine/memory.hpp"
#include "histogram/snapshot/snapshot_counts.hpp"
#include "infer/predict/costs.hpp"
#include "infer/predict/ensemble.hpp"
#include "infer/predict/familiarity.hpp"
#include "infer/predict/training_doubts.hpp"
#include "infer/predict/universe.hpp"
#include "infer/tool/tables.hpp"
#include "nn/model/facts_check.hpp"

namespace cosmo::infer {

namespace {

UniverseSource read_source(const core::Options& options) {
  UniverseSource source{options.text("input"), {}, histogram::read_gadget_reading(options)};
  if (options.given("box")) source.box = core::parse_box_size(options.text("box"), "--box");
  return source;
}

/// {"subvolumes", "parameters": {"omega_m": {"value", "error", "subvolumes"}, …}}
core::Json summary_of(const nn::ModelManifest& model, const UniversePrediction& prediction) {
  core::Json summary = {{"subvolumes", prediction.subvolumes.rows.size()}};
  for (std::size_t p = 0; p < model.parameters.size(); ++p) {
    core::Json& entry = summary["parameters"][model.parameters.names[p]];
    entry = {{"value", prediction.value[p]}, {"error", prediction.error[p]}};
    for (const dataset::PredictionRow& row : prediction.subvolumes.rows)
      entry["subvolumes"].push_back(row.prediction[p]);
  }
  return summary;
}

/// A warning if a model has learned from the universe itself.
std::vector<std::string> recognise(Models models, const OpenUniverse& universe) {
  const auto known = [&](std::vector<std::uint64_t> nn::SeenSeeds::*seeds) {
    return universe.seed && std::ranges::any_of(models, [&](const nn::ModelManifest& model) {
             return std::ranges::count(model.seeds.*seeds, *universe.seed) > 0;
           });
  };
  const bool trained = known(&nn::SeenSeeds::train);
  if (!trained && !known(&nn::SeenSeeds::validation)) return {};
  return {fmt::format("{} has the seed {} of a universe that {}: the error is not that of an unseen one.",
                      universe.path, *universe.seed,
                      trained ? "the model was trained on" : "chose the model's checkpoint")};
}

/// Memory of a run: what it holds now and what it allocates. [bytes]
std::uint64_t memory_of(Models models, const OpenUniverse& universe, int threads) {
  const nn::ModelManifest& first = models.front();
  const int batch = batch_of(first);
  const auto sample = static_cast<std::uint64_t>(first.input.elements());
  return core::resident_memory() + universe.memory_bytes(first, threads) + network_bytes(models, batch) +
         sample * (static_cast<std::uint64_t>(batch) * sizeof(float) + sizeof(std::uint16_t));
}

/// Describes what a run would read and need.
std::string plan(const core::Invocation& run, Models models, const OpenUniverse& universe,
                 core::Json& summary) {
  const std::uint64_t memory = memory_of(models, universe, run.threads);
  const int cut = universe.cells / models.front().input.size;
  summary.update({{"dry_run", true},
                  {"voxels_per_side", universe.cells},
                  {"subvolumes", cut * cut * cut},
                  {"memory_bytes_per_rank", memory}});
  return fmt::format("{}: {}³ of the model's voxels, {} samples; about {} of memory\n", universe.path,
                     universe.cells, cut * cut * cut, core::format_bytes(static_cast<double>(memory)));
}

}  // namespace

void declare_input(core::Options& options) {
  options.begin_group("One universe");
  options.add(
      "input FILE|DIR", std::nullopt,
      "one universe, whose parameters are printed, without --output: a counts file, a directory of "
      "counts (of a universe, from cosmo-prep histogram), a snapshot in Gadget's HDF5 layout (its file, "
      "one of its files, their directory), or counts in an .npy file");
  options.add("box LENGTH", std::nullopt,
              "side of an .npy file's box in Mpc/h; 731.43Mpc for one that does not scale with h");
  histogram::declare_gadget_reading(options);
}

std::vector<std::filesystem::path> input_files(const core::Options& options) {
  return options.given("input") ? core::hdf5_files_at(options.text("input"))
                                : std::vector<std::filesystem::path>();
}

void run_input(const core::Invocation& run) {
  core::Json summary;
  std::string text;
  run.comm.agree([&] {
    core::ensure(!run.options.chosen("ranks-per-sample"), core::Fault::usage,
                 "Option --ranks-per-sample applies only with --data: leave it out.");
    for (const char* name : {"data", "output"}) {
      core::ensure(!run.options.given(name), core::Fault::usage,
                   "Options --input and --{} exclude each other: give one.", name);
    }
    if (!run.comm.is_root()) return;
    const UniverseSource source = read_source(run.options);
    const std::vector<std::string> directories = model_directories(run.options.text("model"));
    const std::vector<nn::ModelManifest> models = load_models(directories);
    const nn::ModelManifest& model = models.front();  // all read the same input
    summary = {{"input", source.path.string()}};
    OpenUniverse opened = open_universe(model, source);
    std::vector<std::string> warnings = training_doubts(run.options, directories, models);
    std::ranges::copy(recognise(models, opened), std::back_inserter(warnings));
    const nn::FactsCheck facts =
        nn::check_facts(models, directories, opened.facts, opened.path, nn::Learned::compared);
    std::ranges::copy(facts.warnings, std::back_inserter(warnings));
    if (!facts.remark.empty()) run.log.info("{}", facts.remark);
    summary["facts_not_stated"] = facts.unstated;
    if (run.options.flag("dry-run")) {
      for (const std::string& warning : warnings) run.log.warn("{}", warning);
      text = plan(run, models, opened, summary);
      return;
    }
    const UniverseCounts universe = read_universe(run.log, model, std::move(opened));
    std::ranges::copy(compare_with_training(model, universe), std::back_inserter(warnings));
    Ensemble ensemble(directories, batch_of(model));
    const UniversePrediction prediction = predict_universe(models, ensemble, universe);
    std::ranges::copy(predictions_outside(model.parameters, {prediction.value}),
                      std::back_inserter(warnings));
    for (const std::string& warning : warnings) run.log.warn("{}", warning);
    summary["warnings"] = warnings;
    summary.update(summary_of(model, prediction));
    text = universe_text(models, prediction);
  });
  run.report(summary, text);
}

}  // namespace cosmo::infer
