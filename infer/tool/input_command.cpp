#include "infer/tool/input_command.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/error.hpp"
#include "core/hdf5/foreign.hpp"
#include "core/machine/memory.hpp"
#include "core/run/stage.hpp"
#include "core/universe/simulation_manifest.hpp"
#include "histogram/snapshot/counting_job.hpp"
#include "histogram/snapshot/snapshot_counts.hpp"
#include "infer/doubt/training_doubts.hpp"
#include "infer/evaluate/posterior_samples.hpp"
#include "infer/input/predictions.hpp"
#include "infer/predict/costs.hpp"
#include "infer/predict/ensemble.hpp"
#include "infer/predict/predictor.hpp"
#include "infer/tool/input_tables.hpp"
#include "nn/model/facts_check.hpp"

namespace cosmo::infer {

using core::Fault;
using core::Json;

namespace {

constexpr std::size_t kPrintedOfInput = 40;
constexpr std::uint64_t kBytesPerUniverse = 500;  ///< size of a line of universes.csv, about

/// What was requested.
struct InputJob {
  std::vector<std::string> names;        ///< values of --input
  std::vector<std::string> directories;  ///< those of the models
  std::vector<Model> models;
  InputReading reading;
  UniverseList list;
  std::vector<std::string>
      doubts;              ///< a sentence on each thing in the trainings that makes the models doubtful
  ListedSizes sizes = {};  ///< on the root rank
  std::vector<std::string> unstated = {};  ///< facts of the trainings that are not known of these universes
  std::size_t draws = 0;                   ///< from the posterior of each universe

  const nn::ModelManifest& model() const { return models.front(); }  ///< all read the same input
};

/// What --input names, for messages.
std::string source_of(const InputJob& job) {
  return job.names.front() + (job.names.size() > 1 ? " and others" : "");
}

/// Compares what is known of the universes with what the models were trained on. Collective.
void check_facts(const core::Invocation& run, InputJob& job) {
  const nn::FactsCheck check = nn::check_facts(manifests_of(job.models), job.directories, job.sizes.facts,
                                               source_of(job), nn::Learned::compared);
  if (!check.remark.empty()) run.log.info("{}", check.remark);
  const Json found = Json::parse(
      run.comm.broadcast(Json{{"warnings", check.warnings}, {"unstated", check.unstated}}.dump()));
  for (const Json& warning : found.at("warnings")) job.doubts.push_back(warning);
  job.unstated = found.at("unstated");
}

/// Collective. Throws an agreed error.
InputJob read_input(const core::Invocation& run) {
  InputJob job;
  const core::Options& options = run.options;
  run.comm.agree([&] {
    core::ensure(!options.chosen("ranks-per-sample"), Fault::usage,
                 "Option --ranks-per-sample applies only with --data: leave it out.");
    core::ensure(!options.given("data"), Fault::usage,
                 "Options --input and --data exclude each other: give one.");
    job.reading.snapshots = histogram::read_gadget_reading(options);
    if (options.given("box")) job.reading.box = core::parse_box_size(options.text("box"), "--box");
    job.names = input_names(options.texts("input"));
    NamedModels named = load_models(options.text("model"));
    job.directories = std::move(named.directories);
    job.models = std::move(named.models);
    job.list = list_universes(job.model(), job.names, job.reading);
    job.doubts = training_doubts(options, job.directories, job.models);
    job.draws = read_samples(options, job.directories, job.models);
    core::ensure(job.draws == 0 || options.given("output"), Fault::usage,
                 "Option --samples writes files: give --output, too.");
    if (run.comm.is_root()) job.sizes = check_universes(job.model(), job.list, run.threads);
  });
  check_facts(run, job);
  return job;
}

/// Memory of a run: what it holds now and what it allocates. [bytes]
std::uint64_t memory_of(const InputJob& job) {
  const int batch = batch_of(job.model());
  const auto sample = static_cast<std::uint64_t>(job.model().input.elements());
  constexpr std::uint64_t kBytesPerSample = 1000;  // what is kept of each
  return core::resident_memory() + job.sizes.memory + network_bytes(job.models, batch) +
         sample * (static_cast<std::uint64_t>(batch) * sizeof(float) + sizeof(float)) +
         job.sizes.samples * kBytesPerSample;
}

/// Predicts them, and warns of what makes that doubtful. Collective.
ListPredictions predict_and_warn(const core::Invocation& run, const InputJob& job) {
  ListPredictions predictions = predict_list(run, job.models, job.directories, job.list);
  run.comm.agree([&] {
    if (run.comm.is_root()) job.list.watched.ensure_unchanged();
  });
  predictions.warnings.insert(predictions.warnings.begin(), job.doubts.begin(), job.doubts.end());
  for (const std::string& warning : predictions.warnings) run.log.warn("{}", warning);
  return predictions;
}

core::Report plan_of(const InputJob& job) {
  const std::size_t universes = job.list.universes.size();
  const std::string what = job.list.is_one() ? job.list.universes.front().name
                                             : fmt::format("{} universes of {}", universes, source_of(job));
  return {
      {{"universes", universes}, {"voxels_per_side", job.sizes.cells}, {"subvolumes", job.sizes.samples}},
      fmt::format("{}: {}³ of the model's voxels, {} samples\n", what, job.sizes.cells, job.sizes.samples)};
}

/// Without --output: prints only.
void print_predictions(const core::Invocation& run, const InputJob& job) {
  const bool one = job.list.is_one();
  Json summary = Json::object();
  std::string text;
  if (one) summary["input"] = job.list.universes.front().source.path.string();
  if (run.options.flag("dry-run")) {
    for (const std::string& warning : job.doubts) run.log.warn("{}", warning);
    std::uint64_t memory = 0;
    run.comm.agree([&] {
      if (run.comm.is_root()) memory = memory_of(job);
    });
    const core::Report plan = plan_of(job);
    summary.update(plan.facts);
    summary.update({{"dry_run", true}, {"memory_bytes_per_rank", memory}});
    text = fmt::format("{}about {} of memory\n", plan.text, core::format_bytes(static_cast<double>(memory)));
    return run.report(summary, text);
  }
  const ListPredictions predictions = predict_and_warn(run, job);
  summary["warnings"] = predictions.warnings;
  summary["facts_not_stated"] = job.unstated;
  const ListResult result{job.models, job.list, predictions};
  if (one) {
    summary.update(universe_json(job.model().parameters, predictions.universes.front()));
    text = universe_text(job.models, predictions.universes.front());
  } else {
    summary.update(list_json(result));
    text = list_text(result, kPrintedOfInput);
  }
  run.report(summary, text);
}

/// With --output: publishes universes.csv.
class InputStage : public core::Stage {
 public:
  InputStage(const core::Invocation& invocation, const InputJob& job) : Stage(invocation), job_(job) {
    run.comm.agree([&] {
      request = {"predict", {{"checkpoint", Json::array()}}, {}};
      for (std::size_t m = 0; m < job_.models.size(); ++m) {
        request.inputs.push_back(core::input_record(job_.directories[m], job_.models[m].base, target));
        request.config["checkpoint"].push_back(job_.models[m].best().sha256);
      }
      if (const Json posteriors = posterior_records(job_.models); !posteriors.empty())
        request.config["posterior_sha256"] = posteriors;
      if (job_.draws > 0) request.config["samples"] = job_.draws;
      if (job_.reading.box) core::write_length(request.config, "box", *job_.reading.box);
      histogram::identify(job_.reading.snapshots, request.config);
      if (const auto& length = job_.reading.snapshots.length)
        request.config[length->per_mpc ? "units_per_mpc" : "units_per_mpc_h"] = length->units;
      for (const std::filesystem::path& suite : job_.list.suites)
        request.inputs.push_back(core::input_record(suite, core::load_manifest(suite, "generate"), target));
    });
    std::vector<std::string> files;
    for (const std::filesystem::path& file : job_.list.files) files.push_back(file.string());
    histogram::add_inputs(run, files, target, request);
    request.check = [](const core::Manifest& manifest) {
      core::ensure(manifest.details.contains("warnings"), Fault::format, "The manifest lacks its warnings.");
    };
  }

  core::Needs needs(const core::Manifest&) override {
    core::Needs needs{.memory_cause = "The predictions need",
                      .memory_remedy = "use fewer models, or fewer ranks per node",
                      .disk_cause = "The predictions to write"};
    run.comm.agree([&] {
      if (run.comm.is_root()) needs.memory = memory_of(job_);
    });
    needs.memory = run.comm.max(needs.memory);
    const std::size_t universes = job_.list.universes.size(), parameters = job_.model().parameters.size();
    needs.memory += samples_memory(job_.draws, parameters);
    needs.disk = needs.disk_missing =
        universes * kBytesPerUniverse + samples_bytes(universes, job_.draws, parameters);
    return needs;
  }

  core::Report outline() override { return plan_of(job_); }

  core::Report make(core::OutputDirectory& output) override {
    const ListPredictions predictions = predict_and_warn(run, job_);
    const ListResult result{job_.models, job_.list, predictions};
    output.add_text("universes.csv", list_csv(result));
    if (job_.draws > 0) {
      std::vector<SampledUniverse> drawn;
      for (const UniversePrediction& universe : predictions.universes)
        drawn.push_back({static_cast<std::uint32_t>(drawn.size()), &universe.density});
      publish_samples(output, job_.model().parameters, drawn, job_.draws);
    }
    Json details = {{"predictions", "universes.csv"},
                    {"parameters", job_.model().parameters},
                    {"warnings", predictions.warnings}};
    if (const Json fiducial = list_fiducial(result); !fiducial.empty()) details["fiducial"] = fiducial;
    if (!predictions.universes.front().network.empty()) details["csv_schema"] = kPosteriorCsvSchema;
    output.finish(run.tool, details, run.facts);
    core::Report report{list_json(result), ""};
    report.facts["warnings"] = predictions.warnings;
    report.facts["facts_not_stated"] = job_.unstated;
    report.text = fmt::format("{}{}: universes.csv{}\n", list_text(result, kPrintedOfInput),
                              output.path().string(), job_.draws > 0 ? ", samples.h5, chains/" : "");
    return report;
  }

  core::Report found(const core::Manifest& existing) override {
    const std::string table = target + "/" + existing.details.at("predictions").get<std::string>();
    core::Report report{{{"warnings", existing.details.at("warnings")}, {"predictions", table}},
                        fmt::format("its predictions are in {}\n", table)};
    if (existing.details.contains("fiducial")) report.facts["fiducial"] = existing.details["fiducial"];
    return report;
  }

 private:
  const InputJob& job_;
};

}  // namespace

void declare_input(core::Options& options) {
  options.begin_group("Universes in files");
  options.add(
      "input FILE|DIR ...", std::nullopt,
      "universes to predict, which need no labels, as words or separated by commas: counts files, directories of "
      "counts (of a universe, from cosmo-prep histogram), snapshots in Gadget's HDF5 layout or binary formats (their file, "
      "one of their files, their directory), .npy files of a universe (n, n, n), (C, n, n, n) or of many (N, n, n, n), "
      "(N, C, n, n, n), directories of such files, or the directory of a suite; for a model of fields .npy files; their "
      "parameters are printed, and written to universes.csv of --output if that is given");
  options.add(
      "box LENGTH", std::nullopt,
      "side of the box of a universe in an .npy file in Mpc/h; 731.43Mpc for one that does not scale with h");
  histogram::declare_gadget_reading(options);
}

std::vector<std::filesystem::path> input_files(const core::Options& options) {
  std::vector<std::filesystem::path> files;
  if (!options.given("input")) return files;
  for (const std::string& name : input_names(options.texts("input")))
    std::ranges::copy(core::hdf5_files_at(name), std::back_inserter(files));
  return files;
}

void run_input(const core::Invocation& run) {
  const InputJob job = read_input(run);
  if (!run.options.given("output")) return print_predictions(run, job);
  InputStage stage(run, job);
  core::run_stage(stage);
}

}  // namespace cosmo::infer
