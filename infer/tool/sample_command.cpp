#include "infer/tool/sample_command.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/machine/memory.hpp"
#include "core/parallel/node_memory.hpp"
#include "core/run/dry_run.hpp"
#include "infer/field/field_models.hpp"
#include "infer/initial/initial_sample.hpp"
#include "infer/initial/stated_spectrum.hpp"
#include "infer/input/predictions.hpp"
#include "infer/tool/field_command.hpp"

namespace cosmo::infer {

using core::ensure;
using core::Fault;
using core::Json;

namespace {

namespace fs = std::filesystem;

constexpr const char* kOption = "white-noise";
constexpr double kFarthest = 0.1;  ///< rms of a sample before it is brought to 1, or one over it

/// What was requested.
struct SampleJob {
  FieldModels models;
  FieldUniverses universes;
  std::optional<StatedSpectrum> spectrum;
  std::uint64_t seed = 0;
  int particles = 0;
  fs::path path;
  Json refusals = Json::array();  ///< that a dry run reports

  const Model& model() const { return models.first(); }
  const std::string& name() const { return universes.list.universes.front().name; }
};

/// Throws Error unless there is one model with the posterior of its modes.
void ensure_can_be_sampled(const FieldModels& models) {
  const Model& model = models.first();
  const std::string& directory = models.directories.front();
  ensure(nn::takes_field_posterior(model), Fault::usage,
         "Option --{} is for models of initial densities, and {} predicts the field {}: leave it out.",
         kOption, directory, model.target->quantity);
  ensure(models.models.size() == 1, Fault::config,
         "--{} samples the posterior of one model, and --model names {}: give one.", kOption,
         models.models.size());
  ensure(
      model.field_posterior.has_value(), Fault::config,
      "{} has no posterior of its modes to sample: fit it with cosmo-train --posterior-only --output {} --data "
      "DATA, the data that it was trained on.",
      directory, directory);
}

/// The particles per side of a universe, if the mean distance of those that were counted is known; else its voxels.
int particles_of(const core::Facts& facts, const core::Length& box, int voxels) {
  const auto number = [&](const std::string& name) {
    const auto found = facts.find(name);
    return found == facts.end() ? std::nullopt : found->second.number();
  };
  const std::optional<double> spacing = number(core::key_of("particle_spacing", box.unit));
  if (!spacing) return voxels;
  const double exact = box.value / (*spacing * std::cbrt(number("tracers").value_or(1)));
  constexpr double kRounding = 1e-3;  // tracers are a whole number
  return std::abs(exact - std::round(exact)) < kRounding * exact ? static_cast<int>(std::lround(exact))
                                                                 : voxels;
}

SampleJob read_sample_job(const core::Invocation& run) {
  const core::Options& options = run.options;
  SampleJob job;
  job.models = read_field_models(options);
  job.path = options.text(kOption);
  ensure_can_be_sampled(job.models);
  job.universes =
      read_field_universes(job.models, input_names(options.texts("input")), read_input_reading(options));
  const UniverseList& list = job.universes.list;
  ensure(list.universes.size() == 1, Fault::config,
         "--input names {} universes, and --{} is the sample of one: give one.", list.universes.size(),
         kOption);
  const core::Length voxel = job.model().input.voxel_size;
  const int side = job.universes.sides.front();
  const core::Length box{voxel.value * side, voxel.unit};
  const core::Facts& facts = job.universes.facts.front().facts;
  job.spectrum = stated_spectrum(options, facts, box, job.name());
  job.seed = options.seed("seed");
  ensure(
      job.universes.seeds.front() != job.seed, Fault::config,
      "--seed {} is that of the initial conditions of {}, and samples of it would be their truth: give another.",
      job.seed, job.name());
  job.particles = options.given("particles")
                      ? static_cast<int>(options.integer("particles", std::max(4, run.comm.size()), 8192))
                      : particles_of(facts, box, side);
  job.spectrum->transfer.check_shape(job.spectrum->cosmology.n_s, {job.particles, job.spectrum->box_mpc_h()});
  core::refuse_or_report(run, job.refusals,
                         [&] { ensure_place_for_sample(job.path, options.flag("force")); });
  std::ranges::copy(recognise(job.models.models, list, job.universes.seeds),
                    std::back_inserter(job.models.doubts));
  return job;
}

/// Peak memory of a rank; refuses what its node does not have. Collective.
std::uint64_t memory_of(const core::Invocation& run, SampleJob& job) {
  const int side = job.universes.sides.front();
  std::uint64_t field = 0;
  run.comm.agree([&] {
    const core::Communicator self = core::Communicator::self();
    field = FieldPredictor::memory_bytes(job.models.models, side, self) +
            (job.models.read_velocity() ? 16 : 4) * dataset::Box(side).voxels();
  });
  const std::uint64_t meshes = fourier::FourierMesh::memory_bytes(side, 1) +
                               fourier::FourierMesh::memory_bytes(job.particles, run.comm.size());
  const core::MemoryBill bill = core::NodeMemory(run.comm).bill(run.comm.max(field) + meshes);
  core::refuse_or_report(run, job.refusals, [&] {
    run.comm.agree([&] {
      ensure(
          bill.is_covered(), Fault::config,
          "The sample needs {} of memory on a node, which has {}: give fewer --particles, or use more nodes.",
          core::format_bytes(static_cast<double>(bill.per_node)),
          core::format_bytes(static_cast<double>(bill.available)));
    });
  });
  return bill.per_rank;
}

/// Writes the sample; returns the rms of its values before it was brought to 1. Collective.
double make_sample(const core::Invocation& run, const SampleJob& job) {
  const core::Communicator self = core::Communicator::self();
  UniverseFields fields(job.models, job.universes.list, self);
  UniverseField field{};
  run.comm.agree([&] { field = fields.predict(run.log, 0); });  // each rank needs all of it
  fourier::FourierMesh noise(run.comm, {job.particles, job.spectrum->box_mpc_h()});
  const double rms =
      sample_noise(noise, job.seed, {field.values, field.side}, *job.model().field_posterior, *job.spectrum);
  run.comm.agree([&] {
    if (run.comm.is_root()) job.universes.list.watched.ensure_unchanged();
  });
  ensure(std::isfinite(rms) && rms > 0 && rms < 1 / kFarthest && rms > kFarthest, Fault::numeric,
         "The sample has the rms {:g}, where white noise has 1: give the parameters of {}, or train again.",
         rms, job.name());
  publish_sample(noise, job.seed, job.path);
  return rms;
}

/// How far the rms of a sample may be off 1: by chance, 5 deviations, or by a tenth of the power of the waves that the model predicts.
double largest_chance(const SampleJob& job) {
  const double cells = std::pow(job.particles, 3);
  const int told = 2 * ((std::min(job.particles, job.universes.sides.front()) - 1) / 2) + 1;
  return std::max(5 / std::sqrt(2 * cells), 0.05 * std::pow(told, 3) / cells);
}

Json facts_of(const SampleJob& job) {
  const core::Cosmology& cosmology = job.spectrum->cosmology;
  return {{"white_noise", job.path.string()},
          {"universe", job.name()},
          {"seed", job.seed},
          {"particles", job.particles},
          {"parameters",
           {{"omega_m", cosmology.omega_m},
            {"sigma8", cosmology.sigma8},
            {"n_s", cosmology.n_s},
            {"h", cosmology.h},
            {"omega_b", cosmology.omega_b}}},
          {"transfer", sim::fact_of(job.spectrum->transfer)}};
}

}  // namespace

void declare_sample(core::Options& options) {
  options.begin_group("A sample of initial conditions");
  options.add(
      "white-noise FILE", std::nullopt,
      "with --input, a universe, and a model of the field initial: FILE of the white noise of a sample of its "
      "initial conditions, for cosmo-sim generate --white-noise; .npy, or with any other name grafic [none]");
  options.add("seed N", "1", "seed of what the model does not know: of waves shorter than its voxels, all");
  options.add("particles N", std::nullopt, "values per side [the universe's particles, else its voxels]");
  declare_spectrum(options);
}

void check_sample(const core::Options& options) {
  const std::string with = fmt::format("--{}", kOption);
  if (options.given(kOption)) {
    for (const char* name : {"data", "output"})
      ensure(!options.given(name), Fault::usage,
             "Options --{} and --{} exclude each other: a sample is one file, of a universe of --input.",
             kOption, name);
    for (const char* name : {"ranks-per-sample", "split"})
      ensure(!options.chosen(name), Fault::usage, "Option --{} has no use with --{}: leave it out.", name,
             kOption);
    return;
  }
  for (const char* name : {"seed", "particles"})
    ensure(!options.chosen(name), Fault::usage, "Option --{} applies only with {}: leave it out.", name,
           with);
  refuse_spectrum(options, with);
}

void run_sample(const core::Invocation& run) {
  std::optional<SampleJob> read;
  run.comm.agree([&] {
    ensure(predicts_field(run.options), Fault::usage,
           "Option --{} is for models of initial densities, and {} predicts parameters: leave it out.",
           kOption, run.options.text("model"));
    read = read_sample_job(run);
  });
  SampleJob& job = *read;
  Json facts = facts_of(job);
  const std::uint64_t memory = memory_of(run, job);
  facts["memory_bytes_per_rank"] = memory;
  const bool dry_run = run.options.flag("dry-run");
  std::string text = fmt::format(
      "{}{}: {}³ values of seed {}, for the universe's box with\n{}\nand its --w0 and --wa, if it has others\n"
      "about {} of memory per rank\n",
      dry_run ? "would write " : "", job.path.string(), job.particles, job.seed, options_of(*job.spectrum),
      core::format_bytes(static_cast<double>(memory)));
  if (dry_run) {
    facts.update({{"dry_run", true}, {"refusals", job.refusals}});
  } else {
    std::ranges::copy(compare_with_trained(run, job.models, job.universes),
                      std::back_inserter(job.models.doubts));
    const double rms = make_sample(run, job);
    if (std::abs(rms - 1) > largest_chance(job))
      job.models.doubts.push_back(fmt::format(
          "The sample had the rms {:.3f} before it was brought to 1: its parameters may not be the "
          "universe's, or that is unlike the training's.",
          rms));
    facts["rms"] = rms;
    text += fmt::format("rms {:.5f}, brought to 1\n", rms);
  }
  for (const std::string& doubt : job.models.doubts) run.log.warn("{}", doubt);
  facts["warnings"] = job.models.doubts;
  run.report(facts, text);
}

}  // namespace cosmo::infer
