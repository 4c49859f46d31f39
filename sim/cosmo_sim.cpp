// cosmo-sim: universes from cosmological parameters.

#include <chrono>
#include <functional>
#include <optional>

#include "core/error.hpp"
#include "core/fourier/fourier_mesh.hpp"
#include "core/output_directory.hpp"
#include "core/simulation_manifest.hpp"
#include "core/tool.hpp"
#include "histogram/count_file.hpp"
#include "histogram/count_grid.hpp"
#include "sim/design.hpp"
#include "sim/simulation.hpp"
#include "sim/transfer_function.hpp"

namespace {

using namespace cosmo;
using core::Fault;
using core::Json;

/// [Mpc/h] Beyond this distance of particles many have not left the voxel edges on which they started: P(k)
/// of the counts is off by 5 % at 10 Mpc/h and by factors at 26 Mpc/h.
constexpr double kSparse = 6;

/// A request as the command line states it.
struct Plan {
  std::string output;
  int simulations;
  std::uint64_t seed;
  int grid;  ///< count voxels a side
  core::Cosmology base;
  std::vector<sim::VaryingParameter> varying;
  sim::SimulationConfig numerics;  ///< cosmology and seed differ from universe to universe
  std::vector<sim::DesignPoint> universes;

  core::GridSpec count_grid() const { return {grid, numerics.box_size}; }
};

/// "omega-m" for "omega_m".
std::string option_name(std::string_view parameter) {
  std::string name(parameter);
  for (char& letter : name) {
    if (letter == '_') letter = '-';
  }
  return name;
}

void declare(core::Options& options) {
  options.add("simulations", "1", "universes to make");
  options.add("design", "uniform", "how varying parameters are drawn: uniform");
  const core::Cosmology defaults;
  for (const core::CosmologyParameter& row : core::kCosmologyParameters) {
    options.add(option_name(row.name), fmt::format("{}", defaults.*row.member),
                fmt::format("{}; LOW:HIGH makes it vary", row.meaning));
  }
  options.add("seed", "1", "seed of everything random; each universe gets its own from it");
  options.add("box", "512", "side of the periodic box, Mpc/h");
  options.add("particles", "256", "particles a side");
  options.add("mesh", std::nullopt, "cells a side of the force mesh [= particles]");
  options.add("steps", "10", "time steps, equal in the scale factor");
  options.add("z-initial", "9", "redshift at which the steps begin");
  options.add("redshifts", "0", "redshifts of the output: 0");
  options.add("transfer", "eisenstein-hu", "transfer function: eisenstein-hu or no-wiggle");
  options.add_flag("fixed-amplitude",
                   "give every initial mode its expected amplitude, only phases are random");
  options.add("save", "counts", "what to write: counts");
  options.add("grid", std::nullopt, "voxels a side of the counts [= particles / 2]");
}

Plan read_plan(const core::Options& options, int ranks) {
  Plan plan;
  plan.output = options.text("output");
  plan.simulations = static_cast<int>(options.integer("simulations", 1, 1'000'000));
  (void)options.choice("design", {"uniform"});
  plan.seed = static_cast<std::uint64_t>(options.integer("seed", 0, (std::int64_t{1} << 53) - 1));
  for (const core::CosmologyParameter& row : core::kCosmologyParameters) {
    const auto [low, high] = options.range(option_name(row.name));
    plan.base.*row.member = low;
    if (low < high) plan.varying.push_back({std::string(row.name), low, high});
  }
  sim::SimulationConfig& numerics = plan.numerics;
  numerics.cosmology = plan.base;
  numerics.box_size = options.number("box");
  numerics.particles_per_side = static_cast<int>(options.integer("particles", 4, 8192));
  numerics.mesh_per_side = options.given("mesh") ? static_cast<int>(options.integer("mesh", 4, 16384))
                                                 : numerics.particles_per_side;
  numerics.steps = static_cast<int>(options.integer("steps", 1, 10'000));
  numerics.z_initial = options.number("z-initial");
  (void)options.choice("redshifts", {"0"});
  (void)options.choice("save", {"counts"});
  numerics.transfer = options.choice("transfer", {"eisenstein-hu", "no-wiggle"});
  numerics.amplitude = options.flag("fixed-amplitude") ? sim::Amplitude::fixed : sim::Amplitude::random;
  plan.grid = options.given("grid") ? static_cast<int>(options.integer("grid", 1, 8192))
                                    : numerics.particles_per_side / 2;
  sim::validate(numerics, ranks);
  plan.universes = sim::uniform_design(plan.base, plan.varying, plan.simulations, plan.seed);
  for (const sim::DesignPoint& universe : plan.universes) core::validate(universe.cosmology);
  return plan;
}

core::Request request_of(const Plan& plan) {
  const sim::SimulationConfig& numerics = plan.numerics;
  Json config = {{"simulations", plan.simulations},
                 {"design", "uniform"},
                 {"seed", plan.seed},
                 {"box_mpc_h", numerics.box_size},
                 {"particles_per_side", numerics.particles_per_side},
                 {"mesh_per_side", numerics.mesh_per_side},
                 {"steps", numerics.steps},
                 {"z_initial", numerics.z_initial},
                 {"redshifts", {0}},
                 {"transfer", numerics.transfer},
                 {"force_kernel", numerics.force_kernel},
                 {"fixed_amplitude", numerics.amplitude == sim::Amplitude::fixed},
                 {"grid", plan.grid}};
  for (const core::CosmologyParameter& row : core::kCosmologyParameters) {
    config[std::string(row.name)] = plan.base.*row.member;
  }
  for (const sim::VaryingParameter& parameter : plan.varying)
    config[parameter.name] = {parameter.low, parameter.high};
  return {"generate", config, {}};
}

std::string counts_path(std::size_t index) { return fmt::format("sim-{:05}/counts_z0.h5", index); }

core::SimulationManifest suite_of(const Plan& plan) {
  core::SimulationManifest suite{{}, {}, plan.numerics.box_size, plan.grid, {}};
  for (const sim::VaryingParameter& parameter : plan.varying) {
    suite.parameters.names.push_back(parameter.name);
    suite.parameters.low.push_back(parameter.low);
    suite.parameters.high.push_back(parameter.high);
  }
  for (std::size_t i = 0; i < plan.universes.size(); ++i) {
    const sim::DesignPoint& universe = plan.universes[i];
    suite.simulations.push_back(
        {static_cast<std::uint32_t>(i), universe.seed, universe.cosmology, counts_path(i)});
  }
  return suite;
}

Json summary_of(const Plan& plan, const core::Request& request, int ranks) {
  const std::size_t counts_per_rank =
      plan.count_grid().cells() / static_cast<std::size_t>(ranks) * sizeof(std::uint16_t);
  return {{"output", plan.output},
          {"id", request.id()},
          {"simulations", plan.simulations},
          {"memory_bytes_per_rank", sim::predicted_memory_bytes(plan.numerics, ranks) + counts_per_rank},
          {"disk_bytes", static_cast<std::uint64_t>(plan.simulations) * plan.count_grid().cells() * 2}};
}

std::string describe(const Plan& plan, const Json& summary) {
  const sim::SimulationConfig& numerics = plan.numerics;
  return fmt::format(
      "{} universe{} of {}³ particles in {} Mpc/h, force mesh {}³, {} steps from z = {}, counts on {}³ "
      "voxels; "
      "about {} of memory a rank, {} on disk",
      plan.simulations, plan.simulations == 1 ? "" : "s", numerics.particles_per_side, numerics.box_size,
      numerics.mesh_per_side, numerics.steps, numerics.z_initial, plan.grid,
      core::format_bytes(summary.at("memory_bytes_per_rank").get<double>()),
      core::format_bytes(summary.at("disk_bytes").get<double>()));
}

/// Makes one universe and publishes its counts. Collective.
void generate_universe(const core::Communicator& comm, core::OutputDirectory& output, const Plan& plan,
                       const core::SimulationRecord& record, const std::function<void()>& step) {
  sim::SimulationConfig config = plan.numerics;
  config.cosmology = record.cosmology;
  config.seed = record.seed;
  std::optional<histogram::CountGrid> grid;
  sim::simulate(comm, config,
                {.step = [&](const sim::Step&) { step(); },
                 .output =
                     [&](const sim::Output& output_now) {
                       grid = histogram::count_particles(comm, plan.count_grid(), output_now.particles.x());
                     }});
  const histogram::CountGrid& counts = *grid;
  const histogram::CountFileHeader header{plan.count_grid(), 0.0, record.seed, record.cosmology,
                                          config.particle_grid().cells()};
  std::filesystem::path part;
  comm.agree([&] { part = output.part(record.counts); });
  histogram::write_counts(comm, part, header, counts);
  std::vector<core::FileRecord> records;
  comm.agree([&] {
    if (comm.is_root()) records.push_back(output.seal(record.counts));
  });
  output.record(records);
}

void run_generate(const core::Invocation& run) {
  const auto start = std::chrono::steady_clock::now();
  Plan plan;
  run.comm.agree([&] { plan = read_plan(run.options, run.comm.size()); });
  const core::Request request = request_of(plan);
  Json summary = summary_of(plan, request, run.comm.size());
  if (run.options.flag("dry-run")) return run.report(summary, describe(plan, summary) + "\n");

  core::OutputDirectory output(run.comm, run.log, plan.output, request, {run.options.flag("force"), {}});
  summary["up_to_date"] = output.up_to_date();
  if (output.up_to_date()) return run.report(summary, fmt::format("{} is up to date\n", plan.output));
  const double spacing = plan.numerics.particle_grid().cell_size();
  if (spacing > kSparse) {
    run.log.warn(
        "particles are {:.1f} Mpc/h apart: above {} Mpc/h counts on large scales still show the lattice.",
        spacing, kSparse);
  }
  run.log.info("{}; {} ranks x {} threads", describe(plan, summary), run.comm.size(), run.threads);

  const core::SimulationManifest suite = suite_of(plan);
  const bool one = plan.simulations == 1;
  core::Progress progress(run.log, one ? "steps" : "universes", one ? plan.numerics.steps : plan.simulations);
  for (const core::SimulationRecord& record : suite.simulations) {
    if (output.find(record.counts) == nullptr) {
      generate_universe(run.comm, output, plan, record, [&] {
        if (one) progress.advance();
      });
    }
    if (!one) progress.advance();
  }
  output.finish(run.tool, suite.details(), run.facts);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  summary["seconds"] = seconds;
  run.report(summary, fmt::format("{}: {} universe{} in {}\n", plan.output, plan.simulations, one ? "" : "s",
                                  core::format_duration(seconds)));
}

}  // namespace

int main(int argc, char** argv) {
  return core::run_tool(argc, argv,
                        {"cosmo-sim",
                         "universes from cosmological parameters",
                         {fourier::library_version()},
                         {{"generate", "simulates one universe or a suite and counts its particles in voxels",
                           "mpirun -n 2 cosmo-sim generate --simulations 64 --omega-m 0.25:0.35 --sigma8 "
                           "0.78:0.95 --n-s 0.9:1.0 "
                           "--particles 128 --output sim",
                           true, &declare, &run_generate}}});
}
