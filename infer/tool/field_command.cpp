#include "infer/tool/field_command.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/file/byte_file.hpp"
#include "core/file/checksum.hpp"
#include "core/format/npy.hpp"
#include "core/machine/memory.hpp"
#include "core/run/stage.hpp"
#include "dataset/make/shard_publisher.hpp"
#include "histogram/snapshot/counting_job.hpp"
#include "infer/doubt/familiarity.hpp"
#include "infer/doubt/independence.hpp"
#include "infer/field/class_page.hpp"
#include "infer/field/class_split.hpp"
#include "infer/field/field_models.hpp"
#include "infer/field/field_output.hpp"
#include "infer/field/field_page.hpp"
#include "infer/field/field_predictor.hpp"
#include "infer/field/field_split.hpp"
#include "infer/input/predictions.hpp"
#include "infer/input/universe_list.hpp"
#include "infer/predict/ensemble.hpp"
#include "nn/model/facts_check.hpp"
#include "nn/output/classes.hpp"

namespace cosmo::infer {

using core::Fault;
using core::Json;

namespace {

/// The groups that --ranks-per-sample names. Collective.
dataset::SampleGroups groups_of(const core::Invocation& run) {
  int shared = 1;
  run.comm.agree([&] { shared = dataset::read_ranks_per_sample(run.options, run.comm.size()); });
  return {run.comm, shared};
}

core::Request request_of(const std::string& stage, const FieldModels& models, const std::string& target) {
  core::Request request{stage, {{"checkpoint", Json::array()}}, {}};
  for (std::size_t m = 0; m < models.models.size(); ++m) {
    request.inputs.push_back(core::input_record(models.directories[m], models.models[m].base, target));
    request.config["checkpoint"].push_back(models.models[m].best().sha256);
  }
  return request;
}

core::Needs needs_of(std::uint64_t memory, std::uint64_t disk) {
  return {.memory = memory,
          .memory_cause = "The predictions need",
          .memory_remedy = "use fewer models, or fewer ranks per node",
          .disk = disk,
          .disk_missing = disk,
          .disk_cause = "The fields to write"};
}

FieldJob job_of(const FieldModels& models) { return {models.models, models.directories}; }

class FieldSplitStage : public core::Stage {
 public:
  explicit FieldSplitStage(const core::Invocation& invocation) : Stage(invocation), ranks_(groups_of(run)) {
    run.comm.agree([&] { read(); });
    const std::string warning = warning_of(independence_, split_);
    if (!warning.empty()) run.log.warn("{}", warning);
  }

  core::Needs needs(const core::Manifest&) override {
    std::uint64_t memory = 0;
    run.comm.agree([&] {
      const int side = data_.spec.side();
      memory = core::resident_memory() + (has_classes() ? class_memory(job_of(models_), side, ranks_.group)
                                                        : field_memory(job_of(models_), side, ranks_.group));
    });
    constexpr std::uint64_t kPage = 1 << 20;
    return needs_of(run.comm.max(memory), kPage + data_.split(split_).samples * data_.spec.target->bytes());
  }

  core::Report outline() override {
    const std::uint64_t universes = data_.split(split_).samples;
    return {{{"universes", universes}},
            fmt::format("{} fields of {}³ voxels\n", universes, data_.spec.side())};
  }

  core::Report make(core::OutputDirectory& output) override {
    std::optional<dataset::SplitReader> reader;
    run.comm.agree([&] {
      reader.emplace(directory_, data_, split_, run.comm.rank(), run.comm.size());
      if (run.comm.is_root())
        std::ranges::copy(compare_with_trained(*reader), std::back_inserter(models_.doubts));
    });
    models_.doubts = Json::parse(run.comm.broadcast(Json(models_.doubts).dump()));
    for (const std::string& doubt : models_.doubts) run.log.warn("{}", doubt);
    const Outcome outcome = has_classes() ? classes(output, *reader) : fields(output, *reader);
    Json metrics = {{"fields", outcome.metrics}, {"warnings", models_.doubts}};
    metrics.update(infer::to_json(independence_));
    for (const html::Figure& figure : outcome.figures) output.add_text(figure.file, figure.content);
    output.add_text("metrics.json", metrics.dump(1) + "\n");
    output.add_text("report.html", outcome.page);
    output.finish(run.tool, {{"metrics", metrics}}, run.facts);
    return {{{"metrics", metrics}},
            fmt::format("{}{}: report.html, metrics.json, fields/\n", outcome.text, output.path().string())};
  }

  core::Report found(const core::Manifest& existing) override {
    return {{{"metrics", existing.details.at("metrics")}}, ""};
  }

 private:
  /// What the predictions came out as.
  struct Outcome {
    Json metrics;
    std::string text, page;
    std::vector<html::Figure> figures;
  };

  /// Sentences on how the data differ from the training's: by what is known of them, and by counts.
  std::vector<std::string> compare_with_trained(dataset::SplitReader& reader) const {
    const nn::NamedFacts known{"the dataset", data_.facts};
    std::vector<std::string> sentences =
        nn::check_facts(manifests_of(models_.models), models_.directories, std::span(&known, 1), known.name,
                        nn::Learned::left_out)
            .warnings;
    std::ranges::copy(compare_with_training(models_.first(), reader), std::back_inserter(sentences));
    return sentences;
  }

  bool has_classes() const { return models_.first().target->has_classes(); }

  Outcome fields(core::OutputDirectory& output, dataset::SplitReader& reader) {
    const MeasuredFields measured =
        predict_fields(ranks_, run.log, output, job_of(models_), reader, data_.facts);
    const FieldPage page{
        measured.metrics,         models_.first(), directory_,      std::string(name_of(split_)),
        data_.spec.box_size.unit, models_.doubts,  measured.slices, warning_of(independence_, split_)};
    const std::vector<html::Figure> figures = field_figures(page);
    return {to_json(measured.metrics), text_of(measured.metrics) + outcome_of(measured.metrics) + "\n",
            field_html(page, figures), figures};
  }

  Outcome classes(core::OutputDirectory& output, dataset::SplitReader& reader) {
    const MeasuredClasses measured = predict_classes(ranks_, run.log, output, job_of(models_), reader);
    const ClassPage page{measured.metrics,
                         models_.first(),
                         directory_,
                         std::string(name_of(split_)),
                         models_.doubts,
                         measured.slices,
                         warning_of(independence_, split_)};
    const std::vector<html::Figure> figures = class_figures(page);
    return {to_json(measured.metrics), text_of(measured.metrics) + outcome_of(measured.metrics) + "\n",
            class_html(page, figures), figures};
  }

  /// Whether the model takes boxes of these data: periodic boxes larger than those of the training are as good.
  void ensure_fits(const dataset::SampleSpec& spec) const {
    const nn::InputSpec& input = models_.first().input;
    core::ensure(
        spec.side() >= input.size, Fault::config,
        "{} has boxes of {}³ voxels, smaller than those of the training, {}³: give boxes at least as large.",
        directory_, spec.side(), input.size);
    FieldPredictor::ensure_takes(models_.first(), spec.side());
    input.ensure_fits(
        {{spec.input.channels(), input.size}, spec.input.redshifts, spec.voxel_size(), spec.line_of_sight},
        directory_);
  }

  void read() {
    for (const char* name : {"data", "output"}) (void)run.options.text(name);
    directory_ = run.options.text("data");
    split_ = dataset::find_split(run.options.choice("split"));
    models_ = read_field_models(run.options);
    data_ = dataset::load_dataset_manifest(directory_);
    const dataset::SampleSpec& spec = data_.spec;
    const nn::FieldTarget& field = *models_.first().target;
    core::ensure(data_.split(split_).samples > 0, Fault::config,
                 "{} has no {} universes: choose --split test.", directory_, name_of(split_));
    ensure_fits(spec);
    core::ensure(
        spec.target && spec.target->name == field.quantity, Fault::config,
        "{} has no target {} to compare the model's field with: make it with cosmo-prep shard --target {}, or "
        "predict universes in files with --input.",
        directory_, field.quantity, field.quantity);
    const auto definition = [](const core::WebDefinition& web) {
      return fmt::format("radius {} Mpc/h and threshold {}", web.radius, web.threshold);
    };
    core::ensure(
        !spec.target->web || !field.web || *spec.target->web == *field.web, Fault::config,
        "{} has classes of {}, and the model predicts those of {}: make the data with the same --web.",
        directory_, definition(spec.target->web.value_or(core::WebDefinition{})),
        definition(field.web.value_or(core::WebDefinition{})));
    core::ensure(
        spec.velocity || models_.first().normalisation.velocity == 0, Fault::config,
        "{} has no velocities beside its counts, which the model reads: make it with cosmo-prep shard --velocity.",
        directory_);
    core::ensure(
        data_.subvolumes == 1, Fault::config,
        "{} holds sub-volumes, and fields are predicted in whole periodic boxes: shard with --subvolumes 1.",
        directory_);
    core::ensure(
        data_.spec.rolls == 0 || split_ != dataset::Split::train, Fault::config,
        "{} holds rolled universes, which are for training: choose another --split, or shard without --rolls.",
        directory_);
    for (const Model& model : models_.models) {
      const Independence of_model = independence_of(model, data_, split_);
      if (!independence_.leak) independence_.leak = of_model.leak;
      independence_.in_sample |= of_model.in_sample;
    }
    dataset::refuse_leak(independence_.leak, directory_, run.options.flag("allow-leak"));
    request = request_of("infer", models_, target);
    request.config["split"] = name_of(split_);
    // Where the predictions are measured, so is the posterior.
    if (const auto& posterior = models_.first().field_posterior; posterior && models_.models.size() == 1)
      request.config["field_posterior_sha256"] = core::sha256(Json(*posterior).dump());
    request.inputs.push_back(core::input_record(directory_, data_.base, target));
    request.check = [](const core::Manifest& manifest) {
      core::ensure(manifest.details.contains("metrics") && manifest.details["metrics"].is_object(),
                   Fault::format, "The manifest lacks its metrics.");
    };
  }
  dataset::SampleGroups ranks_;
  std::string directory_;
  dataset::Split split_ = dataset::Split::test;
  FieldModels models_;
  dataset::DatasetManifest data_;
  Independence independence_;
};

/// Universes in files.
class FieldInputStage : public core::Stage {
 public:
  explicit FieldInputStage(const core::Invocation& invocation) : Stage(invocation), ranks_(groups_of(run)) {
    std::vector<std::string> files;
    run.comm.agree([&] {
      models_ = read_field_models(run.options);
      const InputReading reading = read_input_reading(run.options);
      universes_ = read_field_universes(models_, input_names(run.options.texts("input")), reading);
      const UniverseList& list = universes_.list;
      std::ranges::copy(recognise(models_.models, list, universes_.seeds),
                        std::back_inserter(models_.doubts));
      request = request_of("predict", models_, target);
      if (reading.box) core::write_length(request.config, "box", *reading.box);
      histogram::identify(reading.snapshots, request.config);
      for (const std::filesystem::path& suite : list.suites)
        request.inputs.push_back(core::input_record(suite, core::load_manifest(suite, "generate"), target));
      files = universes_.velocity_files;
      for (const std::filesystem::path& file : list.files) files.push_back(file.string());
    });
    histogram::add_inputs(run, files, target, request);
    request.check = [](const core::Manifest& manifest) {
      core::ensure(manifest.details.contains("fields"), Fault::format, "The manifest lacks its fields.");
    };
  }

  core::Needs needs(const core::Manifest&) override {
    const int largest = *std::ranges::max_element(universes_.sides);
    std::uint64_t memory = 0, disk = 0;
    run.comm.agree([&] {
      memory = core::resident_memory() + FieldPredictor::memory_bytes(models_.models, largest, ranks_.group);
    });
    const std::size_t each = models_.first().target->has_classes() ? sizeof(std::uint8_t) : sizeof(float);
    for (const int side : universes_.sides) disk += dataset::Box(side).voxels() * each;
    return needs_of(
        run.comm.max(memory + (models_.read_velocity() ? 16 : 4) * dataset::Box(largest).voxels()), disk);
  }

  core::Report outline() override {
    return {{{"universes", universes_.sides.size()}},
            fmt::format("{} fields to predict\n", universes_.sides.size())};
  }

  core::Report make(core::OutputDirectory& output) override {
    std::vector<std::string> paths;
    Json fields = Json::array();
    std::ranges::copy(infer::compare_with_trained(run, models_, universes_),
                      std::back_inserter(models_.doubts));
    for (std::size_t u = 0; u < universes_.sides.size(); ++u) {
      const bool npy = universes_.list.universes[u].source.path.extension() == ".npy";
      paths.push_back(fmt::format("fields/universe-{:05}.{}", u, npy ? "npy" : "h5"));
      fields.push_back({{"universe", universes_.list.universes[u].name}, {"file", paths.back()}});
    }
    core::Progress progress(run.log, "universes", static_cast<std::int64_t>(paths.size()));
    UniverseFields predictor(models_, universes_.list, ranks_.group);
    dataset::publish_shards(
        ranks_.all, ranks_.group, progress, output, paths,
        [&](std::size_t u, const std::filesystem::path& part) { predict(predictor, u, part); });
    run.comm.agree([&] {
      if (run.comm.is_root()) universes_.list.watched.ensure_unchanged();
    });
    for (const std::string& doubt : models_.doubts) run.log.warn("{}", doubt);
    const Json details = {
        {"fields", fields}, {"target", models_.first().target->quantity}, {"warnings", models_.doubts}};
    output.finish(run.tool, details, run.facts);
    std::string text;
    for (const Json& field : fields)
      text += fmt::format("{}: {}\n", field.at("universe").get<std::string>(),
                          field.at("file").get<std::string>());
    return {details, fmt::format("{}{}: fields/\n", text, output.path().string())};
  }

  core::Report found(const core::Manifest& existing) override {
    return {{{"fields", existing.details.at("fields")}}, ""};
  }

 private:
  /// Predicts a universe and writes its field. Collective over the group.
  void predict(UniverseFields& fields, std::size_t u, const std::filesystem::path& part) const {
    const UniverseField field = fields.predict(run.log, u);
    ranks_.group.agree([&] {
      if (ranks_.group.is_root()) write(field, u, part);
    });
  }

  /// As .npy if that is what the universe was.
  void write(const UniverseField& predicted, std::size_t u, const std::filesystem::path& part) const {
    const int side = predicted.side;
    const nn::ModelManifest& model = models_.first();
    const auto write_values = [&](const char* type, auto values) {
      if (universes_.list.universes[u].source.path.extension() == ".npy")
        return core::write_bytes(part, core::encode_npy(type, {side, side, side}, std::as_bytes(values)));
      write_predicted_field(part,
                            {model.target->quantity,
                             model.target->redshifts.front(),
                             side,
                             {model.input.voxel_size.value * side, model.input.voxel_size.unit},
                             model.best().sha256,
                             predicted.seed,
                             model.target->web},
                            values);
    };
    if (!model.target->has_classes()) return write_values("<f4", predicted.values);
    std::vector<std::uint8_t> classes(dataset::Box(side).voxels());
    nn::most_likely(predicted.values, classes);
    write_values("|u1", std::span<const std::uint8_t>(classes));
  }

  dataset::SampleGroups ranks_;
  FieldModels models_;
  FieldUniverses universes_;
};

}  // namespace

bool predicts_field(const core::Options& options) {
  return load_models(options.text("model")).models.front().target.has_value();
}

void run_fields(const core::Invocation& run) {
  if (!run.options.given("input")) {
    FieldSplitStage stage(run);
    return core::run_stage(stage);
  }
  run.comm.agree([&] {
    core::ensure(run.options.given("output"), Fault::usage,
                 "A model of a field writes files: give --output, too.");
    core::ensure(!run.options.given("data"), Fault::usage,
                 "Options --input and --data exclude each other: give one.");
  });
  FieldInputStage stage(run);
  core::run_stage(stage);
}

}  // namespace cosmo::infer
