#include "nn/model/model_manifest.hpp"

#include <algorithm>
#include <utility>

#include "core/error.hpp"
#include "nn/census.hpp"
#include "nn/posterior/small_matrix.hpp"

namespace cosmo::nn {

using core::Json;

namespace {

/// The calibration of sub-volumes or of universes, a triangle row by row. Manifests of earlier versions
/// contain only its diagonal.
std::vector<double> calibration_in(const Json& validation, const std::string& of, std::size_t parameters) {
  const auto numbers = [&](const char* kind) { return validation.value(kind + of, std::vector<double>()); };
  const std::vector<double> diagonal = numbers("scale_per_");
  return diagonal.size() == parameters && parameters <= kMostParameters
             ? rows_of(triangle_of(diagonal, parameters), parameters)
             : numbers("calibration_per_");
}

/// A number for all channels, or a list of one for each.
Json number_or_list(const std::vector<double>& numbers) {
  return numbers.size() == 1 ? Json(numbers.front()) : Json(numbers);
}
std::vector<double> numbers_in(const Json& json) {
  return json.is_array() ? json.get<std::vector<double>>() : std::vector<double>{json.get<double>()};
}

Json checkpoints_json(const std::vector<CheckpointRecord>& checkpoints) {
  Json states = Json::array();
  for (const CheckpointRecord& record : checkpoints) {
    states.push_back({{"epoch", record.epoch},
                      {"step", record.step},
                      {"path", record.path},
                      {"sha256", record.sha256},
                      {"validation_loss", record.validation_loss ? Json(*record.validation_loss) : Json()},
                      {"best", record.best}});
  }
  return states;
}

Json normalisation_json(const InputNormalisation& normalisation, core::LengthUnit unit) {
  Json record = {{"voxels", normalisation.voxels},
                 {"offset", number_or_list(normalisation.offset)},
                 {"scale", number_or_list(normalisation.scale)},
                 {"mean_count", normalisation.mean_count}};
  if (normalisation.smooth > 0) core::write_length(record, "smooth", {normalisation.smooth, unit});
  if (normalisation.reconstruct > 0)
    core::write_length(record, "reconstruction", {normalisation.reconstruct, unit});
  if (normalisation.tides > 0) {
    core::write_length(record, "tides", {normalisation.tides, unit});
    record["tides_offset"] = normalisation.tides_offset;
    record["tides_scale"] = normalisation.tides_scale;
  }
  if (normalisation.velocity > 0) record["velocity_scale"] = normalisation.velocity;
  return record;
}

Json to_object(const FieldTarget& target) {
  Json json = {{"quantity", target.quantity},
               {"redshifts", target.redshifts},
               {"offset", target.offset},
               {"scale", target.scale}};
  if (!target.has_classes()) return json;
  json["classes"] = core::kWebClasses;
  json["voxels"] = target.volumes.voxels;
  core::write_web(json, target.web);
  return json;
}

FieldTarget to_target(const Json& json) {
  FieldTarget target{json.at("quantity"), json.at("redshifts"), json.at("offset"), json.at("scale")};
  if (!json.contains("classes")) return target;
  target.volumes.voxels = json.at("voxels").get<std::array<std::uint64_t, core::kWebClasses.size()>>();
  target.web = core::read_web(json);
  return target;
}

/// What the outputs of a training with these settings mean.
Output output_of(const Json& training, const ModelManifest& model) {
  const auto loss = training.at("loss").get<std::string>();
  if (!model.target)
    return {loss, static_cast<int>(model.parameters.size()), training.value("components", 0)};
  if (!model.target->has_classes())
    return {loss, Shape{static_cast<int>(model.target->redshifts.size()), model.input.size}};
  return {loss, Shape{core::kWebClasses.size(), model.input.size},
          training.at("class_weights").get<std::vector<double>>()};
}

/// Throws Error{format} naming the manifest unless its network can be built.
void check_network(const ModelManifest& model, const std::string& source) {
  try {
    (void)take_census(model.network, model.network_input(), model.outputs());
  } catch (const core::Error& error) {
    core::fail(core::Fault::format, "{} describes an invalid network: {}", source, error.what());
  }
}

}  // namespace

void to_json(Json& json, const InputRange& range) {
  json = {{"samples", range.samples}, {"k", range.k}, {"channels", Json::array()}};
  for (const ChannelRange& channel : range.channels) {
    json["channels"].push_back({{"mean_low", channel.mean_low},
                                {"mean_high", channel.mean_high},
                                {"power_low", channel.power_low},
                                {"power_high", channel.power_high}});
  }
}

void from_json(const Json& json, InputRange& range) {
  range = {json.at("samples"), json.at("k"), {}};
  for (const Json& channel : json.at("channels")) {
    range.channels.push_back(
        {channel.at("mean_low"), channel.at("mean_high"), channel.at("power_low"), channel.at("power_high")});
  }
}

core::Json ModelManifest::details() const {
  Json normalisation_record = normalisation_json(normalisation, input.voxel_size.unit);
  core::write_length(normalisation_record, "voxel", input.voxel_size);
  Json input_record = {{"channels", input.channels}, {"size", input.size}};
  if (input.redshifts != std::vector<double>{0}) input_record["redshifts"] = input.redshifts;
  if (!input.line_of_sight.empty()) input_record[core::kLineOfSightKey] = input.line_of_sight;
  Json validation_record = {{"universes", validation.universes},
                            {"subvolumes", validation.subvolumes},
                            {"rmse_per_subvolume", validation.per_subvolume},
                            {"rmse_per_universe", validation.per_universe}};
  if (!validation.calibration_per_universe.empty()) {
    validation_record["calibration_per_subvolume"] = validation.calibration_per_subvolume;
    validation_record["calibration_per_universe"] = validation.calibration_per_universe;
  }
  if (!validation.baseline_shares.empty()) validation_record["baseline_share"] = validation.baseline_shares;
  if (validation.macro_f1) validation_record["macro_f1"] = *validation.macro_f1;
  Json training = {{"components", output.components()}, {"epochs", epochs}, {"choice_epochs", choice_epochs}};
  output.identify(training);
  Json json = {{"network", network},
               {"precision", precision},
               {"training", training},
               {"input", input_record},
               {"parameters", parameters},
               {"normalisation", normalisation_record},
               {"checkpoints", checkpoints_json(checkpoints)},
               {"validation", validation_record},
               {"seeds", {{"train", seeds.train}, {"validation", seeds.validation}}},
               {"history", "history.csv"},
               {"complete", complete}};
  if (target) json["target"] = to_object(*target);
  if (!filtered.empty()) json["filtered"] = nn::to_json(filtered);
  if (range) json["input_range"] = *range;
  if (labels) {
    json["labels"] = {{"mean", labels->mean}, {"standard_deviation", labels->standard_deviation}};
    if (!labels->validation_rms.empty()) json["labels"]["validation_rms"] = labels->validation_rms;
    json["below_centre"] = below_centre();
    json["diverged"] = diverged();
  }
  core::write_facts(json, facts);
  if (!posterior.is_null()) json["posterior"] = posterior;
  if (field_posterior) json["field_posterior"] = *field_posterior;
  if (weights != "weights") json["weights"] = weights;
  return json;
}

const CheckpointRecord& ModelManifest::best() const {
  return *std::find_if(checkpoints.begin(), checkpoints.end(),
                       [](const auto& record) { return record.best; });
}

namespace {

CheckpointRecord read_state(const Json& state) {
  const Json& loss = state.at("validation_loss");
  return {state.at("epoch"),
          state.at("step"),
          state.at("path"),
          state.at("sha256"),
          loss.is_null() ? std::nullopt : std::optional(loss.get<double>()),
          state.at("best")};
}

ValidationErrors read_validation(const Json& validation, std::size_t parameters) {
  return {
      validation.at("universes"),
      validation.at("subvolumes"),
      validation.at("rmse_per_subvolume"),
      validation.at("rmse_per_universe"),
      calibration_in(validation, "subvolume", parameters),
      calibration_in(validation, "universe", parameters),
      validation.value("baseline_share", std::vector<double>()),
      validation.contains("macro_f1") ? std::optional(validation["macro_f1"].get<double>()) : std::nullopt};
}

/// Takes the fields from the manifest's details.
void read_details(const Json& json, ModelManifest& model) {
  model.network = json.at("network");
  model.precision = json.value("precision", model.precision);
  if (json.contains("filtered")) model.filtered = parse_filtered_phases(json.at("filtered"));
  model.weights = json.value("weights", model.weights);
  const Json& normalisation = json.at("normalisation");
  const Json& input = json.at("input");
  model.input = {{input.at("channels"), input.at("size")},
                 input.value("redshifts", model.input.redshifts),
                 core::read_length(normalisation, "voxel"),
                 input.value(core::kLineOfSightKey, "")};
  model.parameters = json.at("parameters");
  model.normalisation = {
      normalisation.at("voxels"),
      numbers_in(normalisation.at("offset")),
      numbers_in(normalisation.at("scale")),
      normalisation.at("mean_count"),
      normalisation.value(core::key_of("smooth", model.input.voxel_size.unit), 0.0),
      normalisation.value(core::key_of("reconstruction", model.input.voxel_size.unit), 0.0),
      normalisation.value(core::key_of("tides", model.input.voxel_size.unit), 0.0),
      normalisation.value("velocity_scale", 0.0),
      normalisation.value("tides_offset", 0.0),
      normalisation.value("tides_scale", 1.0)};
  if (json.contains("target")) model.target = to_target(json["target"]);
  if (json.contains("input_range")) model.range = json.at("input_range").get<InputRange>();
  if (json.contains("labels"))
    model.labels = {json["labels"].at("mean"), json["labels"].at("standard_deviation"),
                    json["labels"].value("validation_rms", std::vector<double>())};
  for (const Json& state : json.at("checkpoints")) model.checkpoints.push_back(read_state(state));
  model.validation = read_validation(json.at("validation"), model.parameters.size());
  // Earlier versions recorded these among the command's settings only.
  const Json& training = json.contains("training") ? json["training"] : model.base.request.config;
  model.output = output_of(training, model);
  model.epochs = training.at("epochs");
  model.choice_epochs = training.value("choice_epochs", 1);
  if (json.contains("seeds")) model.seeds = {json.at("seeds").at("train"), json.at("seeds").at("validation")};
  model.complete = json.at("complete");
  if (json.contains("posterior")) model.posterior = json.at("posterior");
  if (json.contains("field_posterior"))
    model.field_posterior = json.at("field_posterior").get<FieldPosterior>();
}

void ensure_settings(const ModelManifest& model, const std::string& source) {
  core::check_line_of_sight(model.input.line_of_sight, source);
  core::ensure(
      model.weights == "weights" || model.weights == "average", core::Fault::format,
      "{} predicts with \"{}\" of its checkpoints, which are not weights: restore it, or train again.",
      source, model.weights);
  const std::vector<double>&scale = model.normalisation.scale, &offset = model.normalisation.offset;
  core::ensure(
      scale.size() == offset.size() &&
          (scale.size() == 1 || std::cmp_equal(scale.size(), model.input.channels)),
      core::Fault::format,
      "{} has a normalisation of {} scales and {} offsets for {} channels: restore it, or train again.",
      source, scale.size(), offset.size(), model.input.channels);
  const Json& normalisation = model.base.details.at("normalisation");
  const bool smooths = normalisation.contains(core::key_of("smooth", core::LengthUnit::mpc_h)) ||
                       normalisation.contains(core::key_of("smooth", core::LengthUnit::mpc));
  core::ensure(
      !smooths || (model.normalisation.smooth > 0 &&
                   model.normalisation.smooth <= model.input.voxel_size.value * model.input.size / 4),
      core::Fault::format,
      "{} smooths voxels by {} {}, which is not between 0 and a quarter of a sample: restore it, or train again.",
      source, model.normalisation.smooth, core::name_of(model.input.voxel_size.unit));
  core::ensure(std::ranges::all_of(scale, [](double of) { return of > 0; }) && model.epochs >= 1 &&
                   model.choice_epochs >= 1 && model.output.components() >= 0,
               core::Fault::format,
               "{} has a normalisation by {}, {} epochs, chosen over {}, or {} components, which cannot be: "
               "restore it, or train again.",
               source, fmt::join(scale, ", "), model.epochs, model.choice_epochs, model.output.components());
  core::ensure(!model.labels || (model.labels->mean.size() == model.parameters.size() &&
                                 model.labels->standard_deviation.size() == model.parameters.size() &&
                                 (model.labels->validation_rms.empty() ||
                                  model.labels->validation_rms.size() == model.parameters.size())),
               core::Fault::format, "{} does not have the spread of each parameter's labels: train again.",
               source);
  core::ensure(model.input.channels >= 1 && model.input.size >= 1, core::Fault::format,
               "{} has an input of {} channels and {} voxels per side: restore it, or train again.", source,
               model.input.channels, model.input.size);
}

/// There is a best epoch, with the errors of all parameters.
void ensure_best(const ModelManifest& model, const std::string& source) {
  const auto best = std::count_if(model.checkpoints.begin(), model.checkpoints.end(),
                                  [](const CheckpointRecord& record) { return record.best; });
  const bool begun = !model.complete && !model.checkpoints.empty() && model.checkpoints.back().epoch == 0;
  core::ensure(!begun, core::Fault::config,
               "{} belongs to a training that has not finished an epoch: continue it with the same "
               "cosmo-train command.",
               source);
  const std::size_t calibration = model.output.calibration_values();
  core::ensure(best == 1 && model.base.find(model.best().path) != nullptr &&
                   model.validation.per_universe.size() == model.parameters.size() &&
                   model.validation.per_subvolume.size() == model.parameters.size() &&
                   model.validation.calibration_per_universe.size() == calibration &&
                   model.validation.baseline_shares.size() ==
                       (model.network.baseline.empty() ? 0 : model.parameters.size()) &&
                   model.validation.calibration_per_subvolume.size() == calibration,
               core::Fault::format, "{} lacks the best checkpoint or a parameter's error: train again.",
               source);
}

void ensure_range(const ModelManifest& model, const std::string& source) {
  const auto fits = [&](const ChannelRange& channel) {
    return channel.power_low.size() == model.range->k.size() &&
           channel.power_high.size() == model.range->k.size();
  };
  core::ensure(!model.range || (std::cmp_equal(model.range->channels.size(), model.input.channels) &&
                                std::ranges::all_of(model.range->channels, fits)),
               core::Fault::format, "{} has an input_range with other bins or channels: train again.",
               source);
}

/// The best checkpoint may hold the network, whose size is then bounded by that of an existing file.
void ensure_held(const ModelManifest& model, const std::string& source) {
  const core::FileRecord& file = *model.base.find(model.best().path);
  const std::int64_t parameters =
      take_census(model.network, model.network_input(), model.outputs()).parameters();
  core::ensure(file.sha256 == model.best().sha256 &&
                   std::cmp_less_equal(parameters * std::int64_t{sizeof(float)}, file.bytes),
               core::Fault::format, "{} has a network that its checkpoint {} does not hold: train again.",
               source, file.path);
}

}  // namespace

ModelManifest parse_model_manifest(core::Manifest base, const std::string& source) {
  ModelManifest model;
  model.base = std::move(base);
  core::reading_json(source, [&] { read_details(model.base.details, model); });
  model.facts = core::read_facts(model.base.details, source);
  ensure_settings(model, source);
  check_network(model, source);
  ensure_best(model, source);
  ensure_range(model, source);
  if (model.field_posterior) check(*model.field_posterior, source);
  ensure_held(model, source);
  return model;
}

bool takes_field_posterior(const ModelManifest& model) {
  return model.target && has_field_posterior(model.target->quantity, model.outputs());
}

void ensure_of_parameters(const ModelManifest& model, const std::string& directory, std::string_view user) {
  core::ensure(!model.target, core::Fault::config,
               "{} predicts the field {}, and {} is for models of parameters: give one of these.", directory,
               model.target ? model.target->quantity : "", user);
}

void check_model_manifest(const core::Manifest& manifest) {
  try {
    (void)parse_model_manifest(manifest, std::string(core::kManifestName));
  } catch (const core::Error& error) {
    if (error.fault() != core::Fault::config) throw;
  }
}

ModelManifest load_model_manifest(const std::filesystem::path& directory) {
  return parse_model_manifest(core::load_manifest(directory, "train"),
                              (directory / core::kManifestName).string());
}

}  // namespace cosmo::nn
