#include "infer/compare/compared_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>

#include "core/error.hpp"
#include "core/file/input_file.hpp"
#include "core/file/text_file.hpp"
#include "infer/compare/flat_settings.hpp"
#include "infer/report/lineage.hpp"
#include "infer/report/page/metric.hpp"
#include "nn/census.hpp"
#include "nn/model/model_manifest.hpp"

namespace cosmo::infer {

using core::Fault;
using core::Json;

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kIdDigits = 8;  ///< digits of a hash to print

std::string short_id(const std::string& id) { return id.substr(id.find(':') + 1, kIdDigits); }

/// The number in a cell of a table; NaN if there is none.
double number_in(std::string_view cell) {
  const std::string text(cell);
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  return end == text.c_str() ? std::nan("") : value;
}

/// Mean over the parameters of rms / deviation; nothing unless all are there.
std::optional<double> mean_scaled(const std::map<std::string_view, double>& row,
                                  const std::vector<std::string>& names,
                                  const std::vector<double>& deviations) {
  double sum = 0;
  for (std::size_t p = 0; p < names.size(); ++p) {
    const std::string column = "rmse_per_universe_" + names[p];
    const auto place = row.find(column);
    if (place == row.end() || !std::isfinite(place->second)) return std::nullopt;
    sum += place->second / deviations[p];
  }
  return sum / static_cast<double>(names.size());
}

/// The epochs of history.csv.
std::vector<CurvePoint> read_curve(const fs::path& directory, const core::Manifest& manifest,
                                   const std::vector<std::string>& names,
                                   const std::vector<double>& deviations) {
  const core::FileRecord* record = manifest.find("history.csv");
  if (record == nullptr) return {};
  const std::string text = core::read_checked(
      directory, *record, [&](const fs::path& path) { return core::read_text(path, record->bytes); });
  std::vector<std::string_view> header;
  std::vector<CurvePoint> curve;
  for (const std::string_view line : core::cells_of(text, '\n')) {
    if (line.empty()) continue;
    const std::vector<std::string_view> cells = core::cells_of(line, ',');
    if (header.empty()) {
      header = cells;
      continue;
    }
    std::map<std::string_view, double> row;
    for (std::size_t c = 0; c < std::min(cells.size(), header.size()); ++c)
      row[header[c]] = number_in(cells[c]);
    curve.push_back({static_cast<int>(row["epoch"]), row["train_loss"], row["validation_loss"],
                     mean_scaled(row, names, deviations)});
  }
  return curve;
}

/// ComparedRun::universes_id of a split of the dataset among the ancestors.
std::string universes_in(const std::vector<Ancestor>& ancestors, const std::string& data_id,
                         const std::string& split) {
  for (const Ancestor& ancestor : ancestors) {
    if (ancestor.stage() != "shard" || ancestor.record.id != data_id || !ancestor.unchanged) continue;
    const Json suites = ancestor.manifest.value("inputs", Json::array());
    const Json splits = ancestor.manifest.value("splits", Json::object());
    if (suites.empty() || !splits.contains(split) || !splits[split].contains("simulations")) break;
    std::string id = splits[split]["simulations"].dump();
    for (const Json& suite : suites) id.append(1, ' ').append(suite.at("id").get<std::string>());
    return id;
  }
  return data_id;
}

/// Adds the settings of what the directory was made from: of a dataset as "data.KEY", of a suite as "suite.KEY".
void add_ancestors(const std::vector<Ancestor>& ancestors, Json& settings) {
  for (const Ancestor& ancestor : ancestors) {
    const std::string stage = ancestor.stage();
    const std::string prefix = stage == "shard" ? "data" : stage == "generate" ? "suite" : "";
    if (prefix.empty() || !ancestor.unchanged) continue;
    flatten(prefix, ancestor.manifest.value("config", Json::object()), settings);
  }
}

/// The network's name, its weights and its layers.
void add_network(const nn::ModelManifest& model, Json& settings) {
  Json network = model.network;
  network.erase("name");
  flatten("network", network, settings);
  settings["network"] = model.network.name;
  settings["weights"] = nn::take_census(model.network, model.input, model.outputs()).parameters();
}

/// What is known of a training, whether an epoch of it is finished or not.
void add_training(const fs::path& directory, const core::Manifest& manifest, ComparedRun& run) {
  const std::string source = (directory / core::kManifestName).string();
  run.data_id = manifest.request.inputs.empty() ? "" : manifest.request.inputs.front().id;
  Json config = manifest.request.config;
  config.erase("network");
  flatten("", config, run.settings);
  run.settings["data"] = short_id(run.data_id);
  const std::vector<Ancestor> ancestors = trace(directory, manifest.request.inputs);
  run.universes_id = universes_in(ancestors, run.data_id, "validation");
  add_ancestors(ancestors, run.settings);
  core::reading_json(source, [&] {
    run.complete = manifest.details.at("complete");
    run.parameters = manifest.details.at("parameters");
    run.network = manifest.details.at("network").at("name");
    run.epochs = manifest.request.config.at("epochs");
    run.loss = manifest.request.config.at("loss");
  });
  std::optional<nn::ModelManifest> model;
  try {
    model = nn::parse_model_manifest(manifest, source);
  } catch (const core::Error& error) {
    if (error.fault() != Fault::config) throw;  // no epoch is finished
    run.settings["network"] = run.network;
    run.notes.push_back("No epoch of it is finished: it has no errors yet.");
    return;
  }
  nn::ensure_of_parameters(*model, directory.string(), "cosmo-infer compare");
  add_network(*model, run.settings);
  run.loss = model->output.option();
  run.curve = read_curve(directory, manifest, run.parameters.names, model->label_deviations());
  run.epochs_done = run.curve.empty() ? 0 : run.curve.back().epoch;
  run.chosen = model->best().epoch;
  run.number = model->validation.universes;
  run.universes = fmt::format("{} validation universes", run.number);
  const std::vector<double> scaled = model->scaled_errors();
  for (std::size_t p = 0; p < scaled.size(); ++p)
    run.errors.push_back(
        {run.parameters.names[p], scaled[p], std::nullopt, model->validation.per_universe[p]});
  if (!run.complete)
    run.notes.push_back(
        fmt::format("The training is not finished: {} of {} epochs.", run.epochs_done, run.epochs));
  if (model->diverged()) run.notes.push_back("The training diverged.");
  const std::vector<std::string> below = model->below_centre();
  if (!below.empty())
    run.notes.push_back(fmt::format("It predicts {} no better than the mean of the training labels would.",
                                    fmt::join(below, ", ")));
  if (!model->labels && run.is_training)
    run.notes.push_back(
        "The model, of an earlier version, does not record how its labels spread: they are taken to fill their ranges "
        "evenly.");
}

/// What the model behind predictions adds, if it is still there.
void add_model(const fs::path& directory, const core::Manifest& manifest, ComparedRun& run) {
  const std::vector<core::InputRecord>& inputs = manifest.request.inputs;
  const std::size_t models = inputs.size() - 1;  // the last is the data
  if (models > 1) run.settings["models"] = models;
  for (std::size_t m = 0; m < models; ++m) {
    const fs::path model = (directory / inputs[m].path).lexically_normal().parent_path();
    ComparedRun training;
    training.is_training = false;
    try {
      const core::Manifest found = core::load_manifest(model, "train");
      if (found.request.id() != inputs[m].id) throw core::Error(Fault::format, "another model");
      add_training(model, found, training);
    } catch (const core::Error&) {
      run.notes.push_back(
          fmt::format("Its model {} was trained on since, or cannot be read any more: settings are missing.",
                      model.string()));
      return;
    }
    if (m > 0) continue;
    run.network = training.network;
    run.loss = training.loss;
    run.epochs = training.epochs;
    run.epochs_done = training.epochs_done;
    run.chosen = training.chosen;
    run.parameters = training.parameters;
    run.complete = training.complete;
    for (const auto& [name, value] : training.settings.items()) run.settings[name] = value;
    if (models == 1) run.curve = training.curve;
    run.notes = training.notes;
  }
  if (models > 1)
    run.notes.push_back(fmt::format("They are of {} networks; the settings are those of the first.", models));
}

/// The errors in metrics.json.
void add_errors(const Json& metrics, ComparedRun& run) {
  const Json& network = metrics.at("network");
  if (run.parameters.size() == 0) {
    for (const auto& [name, value] : network.items()) run.parameters.names.push_back(name);
  }
  bool missing = false;
  for (std::size_t p = 0; p < run.parameters.size(); ++p) {
    const std::string& name = run.parameters.names[p];
    const auto number = [&](const char* key) { return number_at(metrics, {"network", name, key}); };
    ParameterError error{name, number("scaled_error"), number("scaled_error_se"), number("rmse")};
    if (!error.scaled && error.rms && p < run.parameters.high.size()) {  // of an earlier version
      const double deviation = (run.parameters.high[p] - run.parameters.low[p]) / std::sqrt(12.0);
      error.scaled = *error.rms / deviation;
      missing = true;
      if (const auto se = number("rmse_se")) error.standard_error = *se / deviation;
    }
    run.errors.push_back(error);
  }
  if (missing)
    run.notes.push_back(
        "The predictions, of an earlier version, do not record how the training labels spread: they are taken to fill their "
        "ranges evenly.");
}

void add_predictions(const fs::path& directory, const core::Manifest& manifest, ComparedRun& run) {
  const std::vector<core::InputRecord>& inputs = manifest.request.inputs;
  const std::string source = (directory / core::kManifestName).string();
  core::ensure(inputs.size() >= 2, Fault::format, "{} names no model and data: predict again.", source);
  run.is_training = false;
  add_model(directory, manifest, run);
  run.data_id = inputs.back().id;
  core::reading_json(source, [&] {
    const std::string split = manifest.request.config.at("split");
    run.universes_id = universes_in(trace(directory, inputs), run.data_id, split);
    run.settings["split"] = split;
    run.settings["predicted_data"] = short_id(run.data_id);
    const Json& metrics = manifest.details.at("metrics");
    core::ensure(!metrics.contains("fields"), Fault::config,
                 "{} holds predicted fields, and cosmo-infer compare is for parameters: give predictions of these.",
                 directory.string());
    run.number = metrics.at("universes");
    run.universes = fmt::format("{} {} universes", run.number, split);
    add_errors(metrics, run);
    for (const Json& doubt : metrics.value("warnings", Json::array())) run.notes.push_back(doubt);
  });
}

}  // namespace

ComparedRun read_run(const std::string& directory) {
  const fs::path path = fs::path(directory) / core::kManifestName;
  core::ensure(fs::is_directory(directory), Fault::io,
               "{} is not a directory: give those that cosmo-train or cosmo-infer wrote.", directory);
  core::ensure(
      fs::exists(path), Fault::io,
      "{} does not exist: give directories that cosmo-train or cosmo-infer wrote, trainings after their first "
      "checkpoint.",
      path.string());
  std::string stage;
  core::reading_json(path.string(), [&] { stage = core::read_json(path).at("stage"); });
  core::ensure(
      stage == "train" || stage == "infer", Fault::config,
      "{} is neither a training nor predictions, its stage is \"{}\": give directories that cosmo-train or "
      "cosmo-infer wrote.",
      directory, stage);
  const core::Manifest manifest = core::load_manifest(directory, stage);
  ComparedRun run;
  run.path = directory;
  run.id = manifest.request.id();
  stage == "train" ? add_training(directory, manifest, run) : add_predictions(directory, manifest, run);
  return run;
}

}  // namespace cosmo::infer
