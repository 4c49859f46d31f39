#include "infer/field/field_models.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "core/error.hpp"
#include "core/format/json.hpp"
#include "histogram/snapshot/counting_job.hpp"
#include "infer/doubt/familiarity.hpp"
#include "infer/doubt/training_doubts.hpp"
#include "infer/field/velocity_input.hpp"
#include "infer/predict/ensemble.hpp"

namespace cosmo::infer {

using core::Fault;

namespace {

constexpr std::size_t kMostCompared = 64;  ///< universes whose counts are compared with the training's

/// The counts of a whole box, of whatever size.
std::vector<std::uint16_t> read_box(const core::Log& log, nn::ModelManifest model, OpenUniverse open) {
  model.input.size = open.cells;
  std::vector<std::uint16_t> box(static_cast<std::size_t>(model.input.elements()));
  read_universe(log, model, std::move(open)).read(0, std::span(box));
  return box;
}

}  // namespace

FieldModels read_field_models(const core::Options& options) {
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

InputReading read_input_reading(const core::Options& options) {
  InputReading reading{{}, histogram::read_gadget_reading(options)};
  if (options.given("box")) reading.box = core::parse_box_size(options.text("box"), "--box");
  return reading;
}

FieldUniverses read_field_universes(const FieldModels& models, const std::vector<std::string>& names,
                                    const InputReading& reading) {
  FieldUniverses read;
  read.list = list_universes(models.first(), names, reading);
  for (const ListedUniverse& universe : read.list.universes) {
    const OpenUniverse open = open_universe(models.first(), universe.source, Compare::nothing);
    read.sides.push_back(open.cells);
    read.seeds.push_back(open.seed);
    core::Facts facts = open.facts;
    std::erase_if(facts, [](const auto& fact) { return fact.first.starts_with("box"); });
    read.facts.push_back({open.path, std::move(facts)});
    if (!models.read_velocity()) continue;
    const std::filesystem::path velocity = velocity_file(open);
    if (std::ranges::count(read.list.suites, universe.source.suite) == 0)
      read.velocity_files.push_back(velocity.string());
  }
  return read;
}

std::vector<std::string> compare_with_trained(const core::Invocation& run, const FieldModels& models,
                                              const FieldUniverses& universes) {
  std::vector<std::string> found;
  const core::Log silent(false, true);
  run.comm.agree([&] {
    if (!run.comm.is_root()) return;
    found = nn::check_facts(manifests_of(models.models), models.directories, universes.facts,
                            run.options.text("input"), nn::Learned::left_out)
                .warnings;
    const nn::ModelManifest& model = models.first();
    Familiarity familiarity(model);
    const std::size_t step = (universes.sides.size() + kMostCompared - 1) / kMostCompared;
    for (std::size_t u = 0; u < universes.sides.size() && model.range; u += step) {
      const ListedUniverse& listed = universes.list.universes[u];
      if (universes.sides.size() > 1) familiarity.begin(listed.name);
      familiarity.add(
          std::span<const std::uint16_t>(read_box(silent, model, open_universe(model, listed.source))));
    }
    std::ranges::copy(familiarity.warnings(), std::back_inserter(found));
  });
  return core::Json::parse(run.comm.broadcast(core::Json(found).dump())).get<std::vector<std::string>>();
}

UniverseField UniverseFields::predict(const core::Log& log, std::size_t universe) {
  std::vector<std::uint16_t> box;
  std::vector<float> velocity;
  std::optional<std::uint64_t> seed;
  group_.agree([&] {
    const ListedUniverse& listed = list_.universes[universe];
    OpenUniverse open = open_universe(models_.first(), listed.source);
    seed = open.seed;
    if (!predictor_ || side_ != open.cells)
      predictor_.emplace(models_.models, models_.directories, side_ = open.cells, group_);
    if (models_.read_velocity()) velocity = read_velocity(open);
    box = read_box(log, models_.first(), std::move(open));
    core::ensure(std::ranges::any_of(box, [](std::uint16_t count) { return count > 0; }), Fault::config,
                 "{} has no particle: there is nothing to predict from; check the file.", listed.name);
  });
  return {predictor_->predict(std::span<const std::uint16_t>(box), velocity), side_, seed};
}

}  // namespace cosmo::infer
