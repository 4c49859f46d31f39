#include "dataset/tool/cosmo_prep_shard.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/machine/memory.hpp"
#include "core/run/directory_list.hpp"
#include "core/run/stage.hpp"
#include "core/universe/cosmic_web.hpp"
#include "dataset/make/phases.hpp"
#include "dataset/make/shard_plan.hpp"
#include "dataset/make/shard_suite.hpp"
#include "dataset/quantity/target.hpp"
#include "dataset/tool/cosmo_prep_describe.hpp"

namespace cosmo::dataset {

void declare_shard(core::Options& options) {
  options.begin_group(core::kEveryDay);
  options.add(
      "input DIR,...", std::nullopt,
      "directory that cosmo-sim generate wrote; several, separated by commas, are joined, and may be data sets of "
      "counts, too");
  options.add("grid N", std::nullopt,
              "voxels per side of a simulation: a divisor of the suite's, whose counts are summed "
              "[the suite's]");
  options.add(
      "subvolumes N", std::nullopt,
      "cuts per side: each simulation gives this many cubed samples, 1 to 6 [2; with --test-for what gives samples as "
      "large as there]");
  options.add("redshifts Z,...", "0",
              "redshifts of the counts, separated by commas: a channel each, in order");
  options.add(
      "training N", std::nullopt,
      "simulations to train on, for learning curves: those of a smaller number are also among those of a "
      "larger one [all that are not held out]");
  options.add("validation N", std::nullopt, "simulations for validation [a tenth of the suite, at least 1]");
  options.add("test N", std::nullopt, "simulations for the final test [a tenth of the suite, at least 1]");
  options.add(
      "test-for DIR", std::nullopt,
      "make all simulations test data for the model in DIR (or of the parameters of a data set, or of a suite), "
      "whatever varies among them: a suite at one fixed cosmology tests bias and scatter there");
  options.add("keep-split DIR", std::nullopt,
              "keep the validation and test universes of this data set, for an --input that has grown since");
  options.add(
      "target NAME", std::nullopt,
      fmt::format(
          "a field beside the counts of each sample, to learn instead of parameters, which cosmo-sim generate "
          "--save counts,NAME wrote: {}; classes of the first redshift",
          core::meanings_in(kTargets)),
      core::names_in(kTargets));
  options.add_flag(
      "velocity",
      "velocities beside the counts, which networks of fields then read, too: means of the particles in each voxel, from what "
      "cosmo-sim generate --save counts,velocity wrote");
  options.add("seed N", "1", "seed of the split and of the order of training samples");
  options.begin_group(core::kForExperts);
  options.add(
      "rolls N", "0",
      "times that each training universe is rolled at random, as a periodic box may be, and cut again: "
      "new cuts, no new universes");
  options.add("samples-per-shard N", "64", "samples per file");
  options.add("compress", "none", "none, or gzip for shuffle + deflate 1", {"none", "gzip"});
  declare_allow_leak(options);
}

namespace {

std::vector<double> read_redshifts(const core::Options& options) {
  std::vector<double> redshifts = options.numbers("redshifts");
  for (double& redshift : redshifts) redshift += 0.0;  // -0 is 0
  const std::set<double> different(redshifts.begin(), redshifts.end());
  core::ensure(different.size() == redshifts.size(), core::Fault::config,
               "--redshifts {} names one twice: give each channel its own.", options.text("redshifts"));
  return redshifts;
}

/// What --test-for names.
struct Tested {
  core::ParameterSpace parameters;
  std::optional<int> side;                      ///< voxels per side of a sample; none of a suite
  bool field = false;                           ///< what is predicted, or is there to be
  std::optional<core::WebDefinition> web = {};  ///< what its classes mean, if it has them
};

/// The parameters and ranges of a model, a data set or a suite: all of their manifests state these alike.
Tested read_tested(const std::filesystem::path& directory) {
  const std::filesystem::path path = directory / core::kManifestName;
  core::ensure(std::filesystem::is_regular_file(path), core::Fault::io,
               "{} of --test-for has no {}: give the directory of a model, a data set or a suite.",
               directory.string(), core::kManifestName);
  const core::Json json = core::read_json(path);
  const std::string stage = json.is_object() && json.contains("stage") ? json["stage"].dump() : "none";
  core::ensure(
      json.is_object() && json.contains("parameters"), core::Fault::config,
      "{} of --test-for is an output of stage {}, which states no parameters: give the directory of a "
      "model, a data set or a suite.",
      directory.string(), stage);
  Tested tested;
  core::reading_json(path.string(), [&] {
    tested.parameters = json.at("parameters");
    tested.field = json.contains("target");
    if (tested.field) tested.web = core::read_web(json["target"]);
    if (stage == "\"train\"") tested.side = json.at("input").at("size").get<int>();
    if (stage == "\"shard\"") tested.side = json.at("shape").back().get<int>();
  });
  core::ensure(tested.parameters.size() > 0 || tested.field, core::Fault::config,
               "{} of --test-for varies no parameter: give the model that is to be tested.",
               directory.string());
  return tested;
}

/// --subvolumes, or what cuts a grid into samples of the tested side, or 2.
int read_subvolumes(const core::Options& options, int grid, const Tested& tested) {
  constexpr int kMost = 6, kDefault = 2;
  if (options.given("subvolumes")) return static_cast<int>(options.integer("subvolumes", 1, kMost));
  const bool fits =
      tested.side && *tested.side > 0 && grid % *tested.side == 0 && grid / *tested.side <= kMost;
  return fits ? grid / *tested.side : kDefault;
}

/// Throws Error{usage} if an option is given that all test data leave nothing for.
void ensure_test_alone(const core::Options& options) {
  for (const char* name : {"training", "validation", "test", "rolls", "keep-split"}) {
    core::ensure(
        !options.chosen(name), core::Fault::usage,
        "Option --{} has no use with --test-for, which makes all simulations test data: leave it out.", name);
  }
}

/// The split of the dataset in the directory of --keep-split.
KeptSplit read_kept(const core::Options& options) {
  for (const char* name : {"validation", "test"})
    core::ensure(!options.chosen(name), core::Fault::usage,
                 "Option --{} has no use with --keep-split, which keeps both splits: leave it out.", name);
  const DatasetManifest data = load_dataset_manifest(options.text("keep-split"));
  KeptSplit kept{data.base.request.id(), {}};
  for (const Split split : {Split::validation, Split::test}) {
    for (const std::uint64_t seed : data.split(split).seeds) kept.held_out.emplace(seed, split);
  }
  return kept;
}

ShardSettings read_settings(const core::Options& options, const JoinedSources& sources) {
  constexpr std::int64_t kMost = 1 << 20;
  const auto simulations = static_cast<std::int64_t>(sources.together().size());
  const auto held_out = [&](const std::string& name) {
    ensure_held_out(options, name);
    return static_cast<std::uint32_t>(options.given(name) ? options.integer(name, 1, kMost)
                                                          : std::max<std::int64_t>(1, simulations / 10));
  };
  ShardSettings settings;
  settings.grid =
      options.given("grid") ? static_cast<int>(options.integer("grid", 1, 1 << 14)) : sources.least_grid();
  settings.samples_per_shard = static_cast<std::uint32_t>(options.integer("samples-per-shard", 1, kMost));
  settings.validation = held_out("validation");
  settings.test = held_out("test");
  Tested tested;
  if (options.given("test-for")) {
    ensure_test_alone(options);
    tested = read_tested(options.text("test-for"));
    settings.test_for = tested.parameters;
    settings.validation = 0;
    settings.test = static_cast<std::uint32_t>(sources.universes().size());
  }
  if (options.given("keep-split")) {
    settings.kept = read_kept(options);
    settings.validation = settings.test = 0;
  }
  settings.subvolumes = read_subvolumes(options, settings.grid, tested);
  if (options.given("training"))
    settings.training = static_cast<std::uint32_t>(options.integer("training", 1, kMost));
  settings.compression = find_compression(options.choice("compress"));
  settings.seed = options.seed("seed");
  settings.redshifts = read_redshifts(options);
  if (options.given("target")) settings.target = options.choice("target");
  if (tested.web && settings.target == "web")
    core::ensure(sources.first().web == tested.web, core::Fault::config,
                 "{} of --test-for has classes of --web {}:{}, and {} others: simulate with the same --web.",
                 options.text("test-for"), tested.web->radius, tested.web->threshold, sources.first().name);
  settings.velocity = options.flag("velocity");
  core::ensure(!settings.velocity || settings.redshifts.size() == 1, core::Fault::config,
               "--velocity is for counts at one redshift and --redshifts gives {}: leave one out.",
               settings.redshifts.size());
  settings.rolls = static_cast<int>(options.integer("rolls", 0, kMostRolls));
  settings.allow_leak = options.flag("allow-leak");
  return settings;
}

class ShardStage : public core::Stage {
 public:
  explicit ShardStage(const core::Invocation& invocation) : Stage(invocation) {
    run.comm.agree([&] {
      sources_.emplace(JoinedSources::open(core::directory_list(run.options.text("input"), "input")));
      settings_ = read_settings(run.options, *sources_);
      plan_ = plan_shards(*sources_, settings_);
      if (sources_->size() > 1) sources_->ensure_equal_particles(settings_.redshifts.front());
      request.stage = "shard";
      request.check = dataset_check({true, settings_.samples_per_shard, settings_.compression});
      request.config = settings_.config();
      if (plan_.leak) request.config["allow_leak"] = true;
      for (std::size_t s = 0; s < sources_->size(); ++s) {
        const UniverseSource& source = sources_->source(s);
        request.inputs.push_back(core::input_record(source.common().name, source.manifest(), target));
      }
    });
  }

  core::Needs needs(const core::Manifest& existing) override {
    core::Needs needs{.memory = memory(),
                      .memory_cause = fmt::format("Samples of {} voxels need", fmt::join(plan_.shape, " × ")),
                      .memory_remedy = "choose more --subvolumes",
                      .disk_is_exact = settings_.compression == Compression::none,
                      .disk_cause = "The shards to write"};
    for (const PlannedShard& shard : plan_.shards) {
      const auto bytes =
          static_cast<std::uint64_t>(static_cast<double>(shard.samples.size()) * plan_.sample_bytes());
      needs.disk += bytes;
      if (existing.find(shard.path) == nullptr) needs.disk_missing += bytes;
    }
    return needs;
  }

  core::Report outline() override {
    constexpr int kLeast = 32;
    if (plan_.shape.back() < kLeast && !run.options.given("target"))
      run.log.warn(
          "samples of {}³ voxels are smaller than the built-in networks read ({}³): choose fewer --subvolumes, or a "
          "finer --grid of the suite.",
          plan_.shape.back(), kLeast);
    core::Report report;
    report.facts = {{"config", request.config},
                    {"shape", plan_.shape},
                    {"samples", plan_.samples()},
                    {"shards", plan_.shards.size()}};
    for (const Split split : {Split::train, Split::validation, Split::test}) {
      const std::size_t simulations = plan_.split[static_cast<std::size_t>(split)].size();
      const std::size_t samples = plan_.samples_of(split);
      report.facts["splits"][std::string(name_of(split))] = {{"simulations", simulations},
                                                             {"samples", samples}};
      report.text += fmt::format("{:<11} {} simulations, {} samples\n", name_of(split), simulations, samples);
    }
    report.text += fmt::format("sample      {} voxels\nshards      {}\n", fmt::join(plan_.shape, " × "),
                               plan_.shards.size());
    return report;
  }

  core::Report make(core::OutputDirectory& output) override {
    DatasetManifest written = shard_suite(run.comm, run.log, output, *sources_, plan_, settings_);
    written.base.files = output.manifest().files;
    if (written.seeds_assumed) check_phases(run.comm, run.log, output.path(), written, settings_.allow_leak);
    output.finish(run.tool, written.details(), run.facts);
    return report();
  }

  core::Report found(const core::Manifest&) override { return {report().facts, ""}; }

 private:
  /// Describes the dataset in `target`, on the root rank.
  core::Report report() const {
    core::Report report;
    run.comm.agree([&] {
      if (run.comm.is_root()) report = report_of(load_dataset_manifest(target));
    });
    return report;
  }

  /// What a rank holds now and allocates for a shard: a sample, a slab of rows of a box or the planes summed
  /// to one, open packs, HDF5's buffers. [bytes]
  std::uint64_t memory() const {
    const int suite_grid = sources_->first().grid;
    const bool summed = settings_.grid < suite_grid;
    const double rows =
        2.0 * suite_grid * (summed ? suite_grid / settings_.grid * suite_grid : plan_.shape.back());
    std::uint64_t open = 0;
    for (std::size_t s = 0; s < sources_->size(); ++s) open += sources_->source(s).memory_bytes();
    const bool classes = plan_.target && plan_.target->kind == VoxelKind::classes;
    const std::uint64_t numbers = classes ? plan_.target->voxels() * (sizeof(float) + 1) : 0;  // beside bytes
    return core::resident_memory() + static_cast<std::uint64_t>(plan_.sample_bytes() + rows) + numbers +
           open + (8 << 20);
  }

  std::optional<JoinedSources> sources_;
  ShardSettings settings_;
  ShardPlan plan_;
};

}  // namespace

void run_shard(const core::Invocation& run) {
  ShardStage stage(run);
  core::run_stage(stage);
}

}  // namespace cosmo::dataset
