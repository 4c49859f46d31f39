#include "infer/tool/cosmo_infer.hpp"

#include "core/error.hpp"
#include "core/run/tool.hpp"
#include "infer/doubt/training_doubts.hpp"
#include "infer/evaluate/posterior_samples.hpp"
#include "infer/tool/compare_command.hpp"
#include "infer/tool/export_command.hpp"
#include "infer/tool/field_command.hpp"
#include "infer/tool/input_command.hpp"
#include "infer/tool/sample_command.hpp"
#include "infer/tool/split_command.hpp"
#include "nn/network.hpp"

namespace {

using namespace cosmo;

void declare(core::Options& options) {
  options.add("model DIR,...", std::nullopt,
              "directory that cosmo-train wrote; several, separated by commas, for an ensemble");
  infer::declare_unfinished(options);
  infer::declare_samples(options);
  infer::declare_split(options);
  infer::declare_input(options);
  infer::declare_sample(options);
}

void run_infer(const core::Invocation& run) {
  run.comm.agree([&] {
    (void)run.options.text("model");
    infer::check_sample(run.options);
    core::ensure(
        run.options.given("data") || run.options.given("input"), core::Fault::usage,
        "One of the options --data and --input is missing: give --data DIR, a data set one of whose splits is "
        "predicted, or --input FILE|DIR, universes in files.");
    (void)run.options.choice("split");  // refused before files are opened
    core::ensure(run.options.given("data") || !run.options.chosen("split"), core::Fault::usage,
                 "Option --split applies only with --data: leave it out.");
  });
  if (run.options.given("white-noise")) return infer::run_sample(run);
  bool field = false;
  run.comm.agree([&] { field = infer::predicts_field(run.options); });
  if (field) return infer::run_fields(run);
  run.options.given("input") ? infer::run_input(run) : infer::run_split(run);
}

}  // namespace

core::Tool infer::cosmo_infer_tool() {
  return {"cosmo-infer",
          "cosmological parameters from particle counts, with honest errors",
          {nn::library_version()},
          {{"", "predicts a split of a dataset, or universes in files",
            "cosmo-infer --model model --data data --split test --output predictions", true,
            core::OnStop::end, &declare, &run_infer, &infer::input_files},
           {"export", "writes the network, with its normalisation, for other programs to run",
            "cosmo-infer export --format onnx --model model --output model.onnx", true, core::OnStop::end,
            &infer::declare_export, &infer::run_export},
           {"compare",
            "puts trainings and predictions side by side: settings that differ, errors, learning curves",
            "cosmo-infer compare model-a model-b --html comparison.html", false, core::OnStop::end,
            &infer::declare_compare, &infer::run_compare}}};
}
