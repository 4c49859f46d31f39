#include "infer/input_command.hpp"

#include <optional>

#include "core/error.hpp"
#include "infer/ensemble.hpp"
#include "infer/tables.hpp"
#include "infer/universe.hpp"

namespace cosmo::infer {

void declare_input(core::Options& options) {
  options.add("input", std::nullopt,
              "a counts file: print the parameters of this one universe; needs no --output");
}

void run_input(const core::Invocation& run) {
  std::optional<Predictor> predictor;
  std::optional<UniversePrediction> prediction;
  const bool dry_run = run.options.flag("dry-run");
  run.comm.agree([&] {
    for (const char* name : {"data", "output"}) {
      core::ensure(!run.options.given(name), core::Fault::usage,
                   "Options --input and --{} exclude each other: give one.", name);
    }
    core::ensure(model_directories(run.options.text("model")).size() == 1, core::Fault::usage,
                 "Option --input takes one --model: give --data to predict a split by several.");
    predictor.emplace(run.options.text("model"), 1);
    if (!dry_run) prediction = predict_universe(*predictor, run.options.text("input"));
  });
  core::Json summary = {{"input", run.options.text("input")}};
  if (dry_run) return run.report(summary, fmt::format("one universe, {}\n", run.options.text("input")));
  summary["subvolumes"] = prediction->subvolumes;
  const std::vector<std::string>& names = predictor->model().parameters.names;
  for (std::size_t p = 0; p < names.size(); ++p) {
    summary["parameters"][names[p]] = {{"value", prediction->value[p]}, {"error", prediction->error[p]}};
  }
  run.report(summary, universe_text(predictor->model(), *prediction));
}

}  // namespace cosmo::infer
