// cosmo-sim: universes from cosmological parameters.

#include <algorithm>
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
#include "sim/design_table.hpp"
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
  sim::SimulationConfig
      numerics;  ///< cosmology, seed and box_size [Mpc/h] may differ from universe to universe
  core::Length box;
  Json design;  ///< how the universes were chosen, for the id
  std::vector<sim::DesignPoint> universes;

  core::GridSpec count_grid(double h) const { return {grid, box.mpc_h(h)}; }
};

/// "omega-m" for "omega_m".
std::string option_name(std::string_view parameter) {
  std::string name(parameter);
  for (char& letter : name) {
    if (letter == '_') letter = '-';
  }
  return name;
}

/// Reads the universes of --design FILE, which gives values that no option may give beside it.
void read_design(const core::Options& options, const std::string& path, Plan& plan) {
  core::ensure(
      plan.varying.empty(), Fault::config,
      "--{} is a range and --design {} states each universe: give a number, or a column in the file.",
      plan.varying.empty() ? "" : option_name(plan.varying.front().name), path);
  core::ensure(std::filesystem::exists(path), Fault::io,
               "--design {} is neither uniform nor sobol nor a file: correct the name.", path);
  sim::DesignTable table = sim::read_design_table(path, plan.base);
  for (const std::string& name : table.names) {
    core::ensure(!options.chosen(option_name(name)), Fault::config,
                 "--{} is given and --design {} has a column {}: leave one out.", option_name(name), path,
                 name);
  }
  if (!options.given("simulations")) plan.simulations = static_cast<int>(table.values.size());
  const auto size = static_cast<std::size_t>(plan.simulations);
  core::ensure(size <= table.values.size(), Fault::config,
               "--simulations is {} and --design {} has {} universes: ask for that many or fewer.", size,
               path, table.values.size());
  table.keep(size);
  plan.varying = sim::varying_in(table);
  plan.universes = sim::table_design(plan.base, table, plan.seed);
  plan.base = plan.universes.front().cosmology;
  plan.design = {{"table_sha256", table.sha256()}};
}

void declare(core::Options& options) {
  options.add("simulations", std::nullopt, "universes to make [1, or the rows of --design FILE]");
  options.add("design", "uniform",
              "how varying parameters are drawn: uniform, sobol (evenly), or a FILE.csv whose header names "
              "parameters (and seed) and whose rows are universes");
  const core::Cosmology defaults;
  for (const core::CosmologyParameter& row : core::kCosmologyParameters) {
    options.add(option_name(row.name), fmt::format("{}", defaults.*row.member),
                fmt::format("{}; LOW:HIGH makes it vary", row.meaning));
  }
  options.add("seed", "1", "seed of everything random; each universe gets its own from it");
  options.add("box", "512", "side of the periodic box, Mpc/h; 731.43Mpc: in Mpc, the same whatever h");
  options.add("particles", "256", "particles a side");
  options.add("mesh", std::nullopt, "cells a side of the force mesh [= particles]");
  options.add("steps", "10", "time steps, equal in the scale factor");
  options.add("z-initial", "9", "redshift at which the steps begin");
  options.add("redshifts", "0", "redshifts of the output: 0");
  options.add(
      "transfer", "eisenstein-hu",
      "transfer function: eisenstein-hu, no-wiggle, or a FILE of CAMB or CLASS with k in h/Mpc: two columns "
      "k, P, or a transfer table");
  options.add_flag("fixed-amplitude",
                   "give every initial mode its expected amplitude, only phases are random");
  options.add_flag("paired", "flip the sign of the initial field: the partner of the same run without it");
  options.add("save", "counts", "what to write: counts");
  options.add("grid", std::nullopt, "voxels a side of the counts [= particles / 2]");
}

/// Reads the values of the parameters and the universes that follow.
void read_universes(const core::Options& options, Plan& plan) {
  plan.simulations =
      options.given("simulations") ? static_cast<int>(options.integer("simulations", 1, 1'000'000)) : 1;
  for (const core::CosmologyParameter& row : core::kCosmologyParameters) {
    const auto [low, high] = options.range(option_name(row.name));
    plan.base.*row.member = low;
    if (low < high) plan.varying.push_back({std::string(row.name), low, high});
  }
  const std::string& design = options.text("design");
  plan.design = design;
  if (design == "uniform") {
    plan.universes = sim::uniform_design(plan.base, plan.varying, plan.simulations, plan.seed);
  } else if (design == "sobol") {
    plan.universes = sim::sobol_design(plan.base, plan.varying, plan.simulations, plan.seed);
  } else {
    read_design(options, design, plan);
  }
}

/// What a table of the spectrum states of the universe cannot vary.
void ensure_fixed(const Plan& plan, const sim::SpectrumTable& table) {
  for (const sim::VaryingParameter& parameter : plan.varying) {
    const bool shape = parameter.name == "omega_m" || parameter.name == "h" || parameter.name == "omega_b" ||
                       (parameter.name == "n_s" && table.kind == sim::SpectrumTable::Kind::power);
    core::ensure(!shape, Fault::config,
                 "--{} varies and --transfer {} is the spectrum of one {}: fix it, or use eisenstein-hu.",
                 option_name(parameter.name), table.path, parameter.name);
  }
}

void read_transfer(const core::Options& options, Plan& plan) {
  plan.numerics.transfer = options.text("transfer");
  if (plan.numerics.transfer == "eisenstein-hu" || plan.numerics.transfer == "no-wiggle") return;
  core::ensure(std::filesystem::exists(plan.numerics.transfer), Fault::io,
               "--transfer {} is neither eisenstein-hu nor no-wiggle nor a file: correct the name.",
               plan.numerics.transfer);
  plan.numerics.table = sim::read_spectrum_table(plan.numerics.transfer);
  ensure_fixed(plan, *plan.numerics.table);
}

Plan read_plan(const core::Options& options, int ranks) {
  Plan plan;
  plan.output = options.text("output");
  plan.seed = static_cast<std::uint64_t>(options.integer("seed", 0, (std::int64_t{1} << 53) - 1));
  read_universes(options, plan);
  sim::SimulationConfig& numerics = plan.numerics;
  numerics.cosmology = plan.base;
  plan.box = core::parse_length(options.text("box"), "--box");
  numerics.box_size = plan.box.mpc_h(plan.base.h);
  numerics.particles_per_side = static_cast<int>(options.integer("particles", 4, 8192));
  numerics.mesh_per_side = options.given("mesh") ? static_cast<int>(options.integer("mesh", 4, 16384))
                                                 : numerics.particles_per_side;
  numerics.steps = static_cast<int>(options.integer("steps", 1, 10'000));
  numerics.z_initial = options.number("z-initial");
  (void)options.choice("redshifts", {"0"});
  (void)options.choice("save", {"counts"});
  read_transfer(options, plan);
  numerics.amplitude = options.flag("fixed-amplitude") ? sim::Amplitude::fixed : sim::Amplitude::random;
  numerics.partner = options.flag("paired") ? sim::Partner::flipped : sim::Partner::none;
  plan.grid = options.given("grid") ? static_cast<int>(options.integer("grid", 1, 8192))
                                    : numerics.particles_per_side / 2;
  sim::validate(numerics, ranks);
  return plan;
}

/// The name of the transfer function, or what its table is: its path decides nothing.
Json transfer_record(const sim::SimulationConfig& numerics) {
  if (!numerics.table) return numerics.transfer;
  const bool power = numerics.table->kind == sim::SpectrumTable::Kind::power;
  return {{"table", power ? "power" : "transfer"}, {"sha256", numerics.table->sha256}};
}

core::Request request_of(const Plan& plan) {
  const sim::SimulationConfig& numerics = plan.numerics;
  Json config = {{"simulations", plan.simulations},
                 {"design", plan.design},
                 {"seed", plan.seed},
                 {"particles_per_side", numerics.particles_per_side},
                 {"mesh_per_side", numerics.mesh_per_side},
                 {"steps", numerics.steps},
                 {"z_initial", numerics.z_initial},
                 {"redshifts", {0}},
                 {"transfer", transfer_record(numerics)},
                 {"force_kernel", numerics.force_kernel},
                 {"fixed_amplitude", numerics.amplitude == sim::Amplitude::fixed},
                 {"paired", numerics.partner == sim::Partner::flipped},
                 {"grid", plan.grid}};
  core::write_length(config, "box", plan.box);
  for (const core::CosmologyParameter& row : core::kCosmologyParameters) {
    config[std::string(row.name)] = plan.base.*row.member;
  }
  for (const sim::VaryingParameter& parameter : plan.varying)
    config[parameter.name] = {parameter.low, parameter.high};
  return {"generate", config, {}};
}

std::string counts_path(std::size_t index) { return fmt::format("sim-{:05}/counts_z0.h5", index); }

core::SimulationManifest suite_of(const Plan& plan) {
  core::SimulationManifest suite{{}, {}, plan.box, plan.grid, {}};
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
      plan.count_grid(plan.base.h).cells() / static_cast<std::size_t>(ranks) * sizeof(std::uint16_t);
  return {{"output", plan.output},
          {"id", request.id()},
          {"simulations", plan.simulations},
          {"memory_bytes_per_rank", sim::predicted_memory_bytes(plan.numerics, ranks) + counts_per_rank},
          {"disk_bytes",
           static_cast<std::uint64_t>(plan.simulations) * plan.count_grid(plan.base.h).cells() * 2}};
}

std::string describe(const Plan& plan, const Json& summary) {
  const sim::SimulationConfig& numerics = plan.numerics;
  return fmt::format(
      "{} universe{} of {}³ particles in {} {}, force mesh {}³, {} steps from z = {}, counts on {}³ "
      "voxels; "
      "about {} of memory a rank, {} on disk",
      plan.simulations, plan.simulations == 1 ? "" : "s", numerics.particles_per_side, plan.box.value,
      name_of(plan.box.unit), numerics.mesh_per_side, numerics.steps, numerics.z_initial, plan.grid,
      core::format_bytes(summary.at("memory_bytes_per_rank").get<double>()),
      core::format_bytes(summary.at("disk_bytes").get<double>()));
}

/// Says what was read from a table of the spectrum and what becomes of it.
void explain_table(const core::Log& log, const Plan& plan) {
  if (!plan.numerics.table) return;
  constexpr double kRemarkable = 1e-3;
  const sim::SpectrumTable& table = *plan.numerics.table;
  const bool power = table.kind == sim::SpectrumTable::Kind::power;
  const auto sigma8 = std::ranges::find(plan.varying, "sigma8", &sim::VaryingParameter::name);
  const std::string target = sigma8 == plan.varying.end()
                                 ? fmt::format("{}", plan.base.sigma8)
                                 : fmt::format("{} to {}", sigma8->low, sigma8->high);
  log.info("--transfer {}: {}, {} rows, {:.6g} <= k <= {:.6g} h/Mpc, {} to sigma_8 = {}", table.path,
           table.column, table.rows, table.first_k, table.last_k,
           power ? fmt::format("rescaled from its sigma_8 = {:.5f}", sim::sigma8_of(table))
                 : "which has no sigma_8 of its own, scaled",
           target);
  const double share = sim::extrapolated_share(table, plan.base.n_s);
  if (share > kRemarkable) {
    log.warn(
        "{:.2f} % of sigma_8 squared lies beyond the ends of --transfer {}, where power laws continue it.",
        100 * share, table.path);
  }
}

/// Makes one universe and publishes its counts. Collective.
void generate_universe(const core::Communicator& comm, core::OutputDirectory& output, const Plan& plan,
                       const core::SimulationRecord& record, const std::function<void()>& step) {
  sim::SimulationConfig config = plan.numerics;
  config.cosmology = record.cosmology;
  config.seed = record.seed;
  const core::GridSpec count_grid = plan.count_grid(record.cosmology.h);
  config.box_size = count_grid.box_size;
  std::optional<histogram::CountGrid> grid;
  sim::simulate(comm, config,
                {.step = [&](const sim::Step&) { step(); },
                 .output =
                     [&](const sim::Output& output_now) {
                       grid = histogram::count_particles(comm, count_grid, output_now.particles.x());
                     }});
  const histogram::CountGrid& counts = *grid;
  const histogram::CountFileHeader header{count_grid, 0.0, record.seed, record.cosmology,
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
  explain_table(run.log, plan);
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
