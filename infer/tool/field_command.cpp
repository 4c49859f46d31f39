#include "infer/tool/field_command.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/file/byte_file.hpp"
#include "core/format/npy.hpp"
#include "core/machine/memory.hpp"
#include "core/parallel/rounds.hpp"
#include "core/run/stage.hpp"
#include "dataset/make/shard_publisher.hpp"
#include "histogram/snapshot/counting_job.hpp"
#include "histogram/snapshot/snapshot_counts.hpp"
#include "infer/doubt/familiarity.hpp"
#include "infer/doubt/independence.hpp"
#include "infer/doubt/training_doubts.hpp"
#include "infer/field/class_page.hpp"
#include "infer/field/class_split.hpp"
#include "infer/field/field_output.hpp"
#include "infer/field/field_page.hpp"
#include "infer/field/field_predictor.hpp"
#include "infer/field/field_split.hpp"
#include "infer/field/velocity_input.hpp"
#include "infer/input/predictions.hpp"
#include "infer/input/universe_list.hpp"
#include "infer/predict/ensemble.hpp"
#include "nn/model/facts_check.hpp"
#include "nn/output/classes.hpp"

namespace cosmo::infer {

using core::Fault;
using core::Json;

namespace {

/// The models of --model.
struct FieldModels {
  std::vector<std::string> directories;
  std::vector<Model> models;
  std::vector<std::string> doubts;

  const Model& first() const { return models.front(); }
  FieldJob job() const { return {models, directories}; }
};

/// Throws Error{usage} if an option is given that is for models of parameters, Error{config} unless all models predict one
/// field from one input.
FieldModels read_models(const core::Options& options) {
  for (const char* name : {"samples", "baselines", "baselines-from"}) {
    core::ensure(!options.chosen(name), Fault::usage,
                 "Option --{} has no use with a model of a field: leave it out.", name);
  }
  NamedModels named = load_models(options.text("model"));
  FieldModels read{named.directories, named.models,
                   training_doubts(options, named.directories, named.models)};

  for (std::size_t m = 1; m < read.models.size(); ++m)  // load_models() has compared all but this
    core::ensure(read.models[m].target->quantity == read.first().target->quantity, Fault::config,
                 "{} and {} predict different fields: give models of one kind.", read.directories.front(),
                 read.directories[m]);
  return read;
}

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

constexpr std::size_t kMostCompared = 64;  ///< universes whose counts are compared with the training's

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
      memory = core::resident_memory() + (has_classes() ? class_memory(models_.job(), side, ranks_.group)
                                                        : field_memory(models_.job(), side, ranks_.group));
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
        std::ranges::copy(compare_with_training(models_.first(), *reader),
                          std::back_inserter(models_.doubts));
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

  bool has_classes() const { return models_.first().target->has_classes(); }

  Outcome fields(core::OutputDirectory& output, dataset::SplitReader& reader) {
    const MeasuredFields measured = predict_fields(ranks_, run.log, output, models_.job(), reader);
    const FieldPage page{
        measured.metrics,         models_.first(), directory_,      std::string(name_of(split_)),
        data_.spec.box_size.unit, models_.doubts,  measured.slices, warning_of(independence_, split_)};
    const std::vector<html::Figure> figures = field_figures(page);
    return {to_json(measured.metrics), text_of(measured.metrics) + outcome_of(measured.metrics) + "\n",
            field_html(page, figures), figures};
  }

  Outcome classes(core::OutputDirectory& output, dataset::SplitReader& reader) {
    const MeasuredClasses measured = predict_classes(ranks_, run.log, output, models_.job(), reader);
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

  void read() {
    for (const char* name : {"data", "output"}) (void)run.options.text(name);
    directory_ = run.options.text("data");
    split_ = dataset::find_split(run.options.choice("split"));
    models_ = read_models(run.options);
    data_ = dataset::load_dataset_manifest(directory_);
    const dataset::SampleSpec& spec = data_.spec;
    const nn::FieldTarget& field = *models_.first().target;
    core::ensure(data_.split(split_).samples > 0, Fault::config,
                 "{} has no {} universes: choose --split test.", directory_, name_of(split_));
    models_.first().input.ensure_fits(
        {{spec.input.channels(), spec.side()}, spec.input.redshifts, spec.voxel_size(), spec.line_of_sight},
        directory_);
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
      models_ = read_models(run.options);
      InputReading reading{{}, histogram::read_gadget_reading(run.options)};
      if (run.options.given("box")) reading.box = core::parse_box_size(run.options.text("box"), "--box");
      list_ = list_universes(models_.first(), input_names(run.options.texts("input")), reading);
      std::vector<std::optional<std::uint64_t>> seeds;
      for (const ListedUniverse& universe : list_.universes) {
        const OpenUniverse open = open_universe(models_.first(), universe.source, Compare::nothing);
        sides_.push_back(open.cells);
        seeds.push_back(open.seed);
        core::Facts facts = open.facts;  // boxes of other sizes are as good: convolutions hold for all
        std::erase_if(facts, [](const auto& fact) { return fact.first.starts_with("box"); });
        facts_.push_back({open.path, std::move(facts)});
        if (!reads_velocity()) continue;
        const std::filesystem::path velocity = velocity_file(open);
        if (std::ranges::count(list_.suites, universe.source.suite) == 0) files.push_back(velocity.string());
      }
      std::ranges::copy(recognise(models_.models, list_, seeds), std::back_inserter(models_.doubts));
      request = request_of("predict", models_, target);
      if (reading.box) core::write_length(request.config, "box", *reading.box);
      histogram::identify(reading.snapshots, request.config);
      for (const std::filesystem::path& suite : list_.suites)
        request.inputs.push_back(core::input_record(suite, core::load_manifest(suite, "generate"), target));
      for (const std::filesystem::path& file : list_.files) files.push_back(file.string());
    });
    histogram::add_inputs(run, files, target, request);
    request.check = [](const core::Manifest& manifest) {
      core::ensure(manifest.details.contains("fields"), Fault::format, "The manifest lacks its fields.");
    };
  }

  core::Needs needs(const core::Manifest&) override {
    const int largest = *std::ranges::max_element(sides_);
    std::uint64_t memory = 0, disk = 0;
    run.comm.agree([&] {
      memory = core::resident_memory() + FieldPredictor::memory_bytes(models_.models, largest, ranks_.group);
    });
    const std::size_t each = models_.first().target->has_classes() ? sizeof(std::uint8_t) : sizeof(float);
    for (const int side : sides_) disk += dataset::Box(side).voxels() * each;
    return needs_of(run.comm.max(memory + (reads_velocity() ? 16 : 4) * dataset::Box(largest).voxels()),
                    disk);
  }

  core::Report outline() override {
    return {{{"universes", sides_.size()}}, fmt::format("{} fields to predict\n", sides_.size())};
  }

  core::Report make(core::OutputDirectory& output) override {
    std::vector<std::string> paths;
    Json fields = Json::array();
    compare_with_trained();
    for (std::size_t u = 0; u < sides_.size(); ++u) {
      const bool npy = list_.universes[u].source.path.extension() == ".npy";
      paths.push_back(fmt::format("fields/universe-{:05}.{}", u, npy ? "npy" : "h5"));
      fields.push_back({{"universe", list_.universes[u].name}, {"file", paths.back()}});
    }
    core::Progress progress(run.log, "universes", static_cast<std::int64_t>(paths.size()));
    dataset::publish_shards(ranks_.all, ranks_.group, progress, output, paths,
                            [&](std::size_t u, const std::filesystem::path& part) { predict(u, part); });
    run.comm.agree([&] {
      if (run.comm.is_root()) list_.watched.ensure_unchanged();
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
  bool reads_velocity() const { return models_.first().normalisation.velocity > 0; }

  /// Adds to the doubts how the universes differ from those of the training: by what is known of them and, of up to
  /// kMostCompared, by their counts, if they have as many voxels as those. Collective.
  void compare_with_trained() {
    std::vector<std::string> found;
    const core::Log silent(false, true);
    run.comm.agree([&] {
      if (!run.comm.is_root()) return;
      found = nn::check_facts(manifests_of(models_.models), models_.directories, facts_,
                              run.options.text("input"), nn::Learned::left_out)
                  .warnings;
      const nn::ModelManifest& model = models_.first();
      Familiarity familiarity(model);
      const std::size_t step = (sides_.size() + kMostCompared - 1) / kMostCompared;
      for (std::size_t u = 0; u < sides_.size() && model.range; u += step) {
        if (sides_[u] != model.input.size) continue;
        const ListedUniverse& listed = list_.universes[u];
        if (sides_.size() > 1) familiarity.begin(listed.name);
        familiarity.add(std::span<const std::uint16_t>(
            box_of(read_universe(silent, model, open_universe(model, listed.source)), model)));
      }
      std::ranges::copy(familiarity.warnings(), std::back_inserter(found));
    });
    for (const Json& doubt : Json::parse(run.comm.broadcast(Json(found).dump())))
      models_.doubts.push_back(doubt);
  }

  static std::vector<std::uint16_t> box_of(const UniverseCounts& counts, const nn::ModelManifest& model) {
    std::vector<std::uint16_t> box(static_cast<std::size_t>(model.input.elements()));
    counts.read(0, std::span(box));
    return box;
  }

  /// Predicts a universe and writes its field, as .npy if that is what the universe was. Collective over the group.
  void predict(std::size_t u, const std::filesystem::path& part) {
    std::vector<std::uint16_t> box;
    std::vector<float> velocity;
    PredictedField stated;
    ranks_.group.agree([&] { stated = read(u, box, velocity); });
    const std::span<const float> field = predictor_->predict(std::span<const std::uint16_t>(box), velocity);
    ranks_.group.agree([&] {
      if (ranks_.group.is_root()) write(u, part, stated, field);
    });
  }

  /// Reads a universe and its velocities, if the models do, and makes a predictor of its size.
  PredictedField read(std::size_t u, std::vector<std::uint16_t>& box, std::vector<float>& velocity) {
    nn::ModelManifest whole = models_.first();
    OpenUniverse universe = open_universe(whole, list_.universes[u].source);
    const int side = universe.cells;
    const std::optional<std::uint64_t> seed = universe.seed;
    if (!predictor_ || predicted_side_ != side)
      predictor_.emplace(models_.models, models_.directories, predicted_side_ = side, ranks_.group);
    whole.input.size = side;
    if (reads_velocity()) velocity = read_velocity(universe);
    const UniverseCounts counts = read_universe(run.log, whole, std::move(universe));
    box = box_of(counts, whole);
    core::ensure(std::ranges::any_of(box, [](std::uint16_t count) { return count > 0; }), Fault::config,
                 "{} has no particle: there is nothing to predict from; check the file.",
                 list_.universes[u].name);
    const nn::FieldTarget& target_field = *whole.target;
    return {target_field.quantity,
            target_field.redshifts.front(),
            side,
            {whole.input.voxel_size.value * side, whole.input.voxel_size.unit},
            whole.best().sha256,
            seed,
            target_field.web};
  }

  void write(std::size_t u, const std::filesystem::path& part, const PredictedField& stated,
             std::span<const float> field) const {
    const auto write_values = [&](const char* type, auto values) {
      const int side = stated.side;
      if (list_.universes[u].source.path.extension() == ".npy")
        return core::write_bytes(part, core::encode_npy(type, {side, side, side}, std::as_bytes(values)));
      write_predicted_field(part, stated, values);
    };
    if (!models_.first().target->has_classes()) return write_values("<f4", field);
    std::vector<std::uint8_t> classes(dataset::Box(stated.side).voxels());
    nn::most_likely(field, classes);
    write_values("|u1", std::span<const std::uint8_t>(classes));
  }

  dataset::SampleGroups ranks_;

  FieldModels models_;
  UniverseList list_;
  std::vector<int> sides_;  ///< voxels per side of each universe
  std::vector<nn::NamedFacts> facts_;
  std::optional<FieldPredictor> predictor_;
  int predicted_side_ = 0;
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
