#include "infer/input_command.hpp"

#include <optional>

#include "core/error.hpp"
#include "dataset/snapshot_counts.hpp"
#include "infer/ensemble.hpp"
#include "infer/tables.hpp"
#include "infer/universe.hpp"

namespace cosmo::infer {

namespace {

UniverseSource read_source(const core::Options& options) {
  UniverseSource source{options.text("input"), {}, dataset::read_gadget_reading(options)};
  if (options.given("box")) source.box = core::parse_length(options.text("box"), "--box");
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

}  // namespace

void declare_input(core::Options& options) {
  options.add(
      "input", std::nullopt,
      "one universe, whose parameters are printed, without --output: a counts file, a directory of "
      "counts (of a universe, of cosmo-prep histogram), a snapshot in Gadget's HDF5 layout (its file, "
      "one of its files, their directory), or counts in an .npy file");
  options.add("box", std::nullopt,
              "side of an .npy file's box in Mpc/h; 731.43Mpc for one that does not scale with h");
  dataset::declare_gadget_reading(options);
}

void run_input(const core::Invocation& run) {
  core::Json summary;
  std::string text;
  run.comm.agree([&] {
    for (const char* name : {"data", "output"}) {
      core::ensure(!run.options.given(name), core::Fault::usage,
                   "Options --input and --{} exclude each other: give one.", name);
    }
    core::ensure(model_directories(run.options.text("model")).size() == 1, core::Fault::usage,
                 "Option --input takes one --model: give --data to predict a split by several.");
    if (!run.comm.is_root()) return;
    const UniverseSource source = read_source(run.options);
    const nn::ModelManifest model = nn::load_model_manifest(run.options.text("model"));
    summary = {{"input", source.path.string()}};
    if (run.options.flag("dry-run")) {
      text = fmt::format("one universe, {}\n", source.path.string());
      return;
    }
    const UniverseCounts universe = open_universe(run.log, model, source);
    const std::vector<std::string> warnings = compare_with_training(model, universe);
    for (const std::string& warning : warnings) run.log.warn("{}", warning);
    summary["warnings"] = warnings;
    Predictor predictor(run.options.text("model"), batch_of(model));
    const UniversePrediction prediction = predict_universe(predictor, universe);
    summary.update(summary_of(model, prediction));
    text = universe_text(model, prediction);
  });
  run.report(summary, text);
}

}  // namespace cosmo::infer
