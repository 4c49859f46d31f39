// cosmo-sim: universes from cosmological parameters.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/fourier/fourier_mesh.hpp"
#include "core/memory.hpp"
#include "core/output_directory.hpp"
#include "core/rounds.hpp"
#include "core/simulation_manifest.hpp"
#include "core/tool.hpp"
#include "sim/design_table.hpp"
#include "sim/rank_layout.hpp"
#include "sim/simulation.hpp"
#include "sim/transfer_function.hpp"
#include "sim/universe.hpp"

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
  core::Slice slice;  ///< of the universes that this run makes
  int grid;           ///< count voxels a side
  bool save_counts;
  bool save_particles;
  core::Cosmology base;
  std::vector<sim::VaryingParameter> varying;
  sim::SimulationConfig
      numerics;  ///< cosmology, seed and box_size [Mpc/h] may differ from universe to universe
  core::Length box;
  Json design;  ///< how the universes were chosen, for the id
  std::vector<sim::DesignPoint> universes;

  int universes_to_make() const {
    return static_cast<int>(std::min<std::int64_t>(slice.last, simulations) - slice.first);
  }
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
  options.add("redshifts", "0", "redshifts of the output, between commas, up to --z-initial");
  options.add(
      "transfer", "eisenstein-hu",
      "transfer function: eisenstein-hu, no-wiggle, or a FILE of CAMB or CLASS with k in h/Mpc: two columns "
      "k, P, or a transfer table");
  options.add_flag("fixed-amplitude",
                   "give every initial mode its expected amplitude, only phases are random");
  options.add_flag("paired", "flip the sign of the initial field: the partner of the same run without it");
  options.add("save", "counts", "what to write at each redshift: counts, particles or both");
  options.add("grid", std::nullopt, "voxels a side of the counts [= particles / 2]");
  options.add_switch("power-spectrum", true, "write each universe's P(k), a table: on or off");
  options.add(
      "select", std::nullopt,
      "I:J makes the universes I to J - 1 only; processes with other slices may share --output [all]");
  options.add("ranks-per-simulation", std::nullopt,
              "ranks that make a universe together, a divisor of all [the fewest whose memory suffices]");
}

/// Ascending.
std::vector<double> read_redshifts(const core::Options& options) {
  std::vector<double> redshifts = options.numbers("redshifts");
  std::sort(redshifts.begin(), redshifts.end());
  for (double& redshift : redshifts) redshift += 0.0;  // -0 is 0
  return redshifts;
}

/// The universes I <= i < J of --select I:J.
core::Slice read_slice(const core::Options& options, int simulations) {
  if (!options.given("select")) return {};
  const auto [first, last] = options.range("select");
  core::ensure(first >= 0 && first < last && last <= simulations && std::floor(first) == first &&
                   std::floor(last) == last,
               Fault::config, "--select is '{}': write I:J, two whole numbers with 0 <= I < J <= {}.",
               options.text("select"), simulations);
  return {static_cast<std::int64_t>(first), static_cast<std::int64_t>(last)};
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

Plan read_plan(const core::Options& options) {
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
  numerics.redshifts = read_redshifts(options);
  const std::string& save = options.choice("save", {"counts", "particles", "both"});
  plan.save_counts = save != "particles";
  plan.save_particles = save != "counts";
  numerics.momenta = numerics.ids = plan.save_particles;
  numerics.power_spectra = options.is_on("power-spectrum");
  read_transfer(options, plan);
  numerics.amplitude = options.flag("fixed-amplitude") ? sim::Amplitude::fixed : sim::Amplitude::random;
  numerics.partner = options.flag("paired") ? sim::Partner::flipped : sim::Partner::none;
  plan.grid = options.given("grid") ? static_cast<int>(options.integer("grid", 1, 8192))
                                    : numerics.particles_per_side / 2;
  plan.slice = read_slice(options, plan.simulations);
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
                 {"redshifts", numerics.redshifts},
                 {"transfer", transfer_record(numerics)},
                 {"force_kernel", numerics.force_kernel},
                 {"fixed_amplitude", numerics.amplitude == sim::Amplitude::fixed},
                 {"paired", numerics.partner == sim::Partner::flipped},
                 {"save_counts", plan.save_counts},
                 {"save_particles", plan.save_particles},
                 {"power_spectrum", numerics.power_spectra},
                 {"grid", plan.grid}};
  core::write_length(config, "box", plan.box);
  for (const core::CosmologyParameter& row : core::kCosmologyParameters) {
    config[std::string(row.name)] = plan.base.*row.member;
  }
  for (const sim::VaryingParameter& parameter : plan.varying)
    config[parameter.name] = {parameter.low, parameter.high};
  return {"generate", config, {}};
}

core::SimulationRecord record_of(const Plan& plan, std::size_t index) {
  const sim::DesignPoint& universe = plan.universes[index];
  const std::string folder = fmt::format("sim-{:05}/", index);
  core::SimulationRecord record{static_cast<std::uint32_t>(index), universe.seed, universe.cosmology, {}, {}};
  for (const double z : plan.numerics.redshifts) {
    record.outputs.push_back({z, plan.save_counts ? folder + core::counts_name(z) : "",
                              plan.save_particles ? folder + core::snapshot_name(z) : ""});
  }
  if (plan.numerics.power_spectra) record.power_spectrum = folder + core::kPowerSpectrumName;
  return record;
}

core::SimulationManifest suite_of(const Plan& plan) {
  core::SimulationManifest suite{{}, {}, plan.box, plan.grid, {}};
  for (const sim::VaryingParameter& parameter : plan.varying) {
    suite.parameters.names.push_back(parameter.name);
    suite.parameters.low.push_back(parameter.low);
    suite.parameters.high.push_back(parameter.high);
  }
  for (std::size_t i = 0; i < plan.universes.size(); ++i) suite.simulations.push_back(record_of(plan, i));
  return suite;
}

/// What a rank takes to write a snapshot: blocks of 2^19 particles, and more of those that change ranks
/// (core/snapshot.hpp) [bytes].
std::uint64_t snapshot_memory(std::uint64_t particles, int ranks) {
  const std::uint64_t block = std::min<std::uint64_t>(particles, 1 << 19);
  return 28 * block + (ranks > 1 ? 4 * particles / static_cast<std::uint64_t>(ranks) + 2 * 64 * block : 0);
}

/// What a rank allocates if `ranks` make a universe together [bytes].
std::uint64_t memory_of(const Plan& plan, int ranks) {
  constexpr std::uint64_t kLibraries = 8 << 20;  // HDF5 and FFTW, once they are used
  sim::validate(plan.numerics, ranks);
  const std::uint64_t counts =
      plan.count_grid().cells() / static_cast<std::uint64_t>(ranks) * sizeof(std::uint16_t);
  const std::uint64_t snapshot = snapshot_memory(plan.numerics.particle_grid().cells(), ranks);
  return kLibraries + sim::predicted_memory_bytes(plan.numerics, ranks) + (plan.save_counts ? counts : 0) +
         (plan.save_particles ? snapshot : 0);
}

/// Of all universes in the plan, whoever makes them [bytes].
std::uint64_t disk_of(const Plan& plan) {
  const sim::SimulationConfig& numerics = plan.numerics;
  constexpr std::uint64_t kCount = sizeof(std::uint16_t);
  constexpr std::uint64_t kParticle = 2 * 3 * sizeof(float) + sizeof(std::uint64_t);  // x, v, id
  constexpr std::uint64_t kRow = 60;                                                  // characters
  std::uint64_t each = 0;
  if (plan.save_counts) each += plan.count_grid().cells() * kCount;
  if (plan.save_particles) each += numerics.particle_grid().cells() * kParticle;
  std::uint64_t universe = each * numerics.redshifts.size();
  if (numerics.power_spectra) {
    universe +=
        kRow * static_cast<std::uint64_t>(numerics.particles_per_side / 2) * (numerics.redshifts.size() + 1);
  }
  return universe * static_cast<std::uint64_t>(plan.simulations);
}

Json summary_of(const Plan& plan, const core::Request& request, const sim::RankLayout& layout) {
  return {{"output", plan.output},
          {"id", request.id()},
          {"simulations", plan.simulations},
          {"ranks_per_simulation", layout.ranks_per_simulation},
          {"memory_bytes_per_rank", layout.memory.per_rank},
          {"memory_bytes_per_node", layout.memory.per_node},
          {"memory_available_bytes", layout.memory.available},
          {"disk_bytes", disk_of(plan)}};
}

/// "counts on 128³ voxels and particles at z = 0, 0.5".
std::string contents(const Plan& plan) {
  std::string text = plan.save_counts ? fmt::format("counts on {}³ voxels", plan.grid) : "";
  if (plan.save_particles) text += text.empty() ? "particles" : " and particles";
  return fmt::format("{} at z = {}", text, fmt::join(plan.numerics.redshifts, ", "));
}

std::string describe(const Plan& plan, const Json& summary) {
  const sim::SimulationConfig& numerics = plan.numerics;
  return fmt::format(
      "{} universe{} of {}³ particles in {} {}, force mesh {}³, {} steps from z = {}, {}; "
      "about {} of memory a rank, {} on disk",
      plan.simulations, plan.simulations == 1 ? "" : "s", numerics.particles_per_side, plan.box.value,
      name_of(plan.box.unit), numerics.mesh_per_side, numerics.steps, numerics.z_initial, contents(plan),
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

std::string memory_shortage(const Plan& plan, const sim::MemoryBill& memory) {
  return fmt::format(
      "--particles {} and --mesh {} need about {} of memory on a node that has {} available: choose fewer, "
      "or use more nodes.",
      plan.numerics.particles_per_side, plan.numerics.mesh_per_side,
      core::format_bytes(static_cast<double>(memory.per_node)),
      core::format_bytes(static_cast<double>(memory.available)));
}

/// Every rank has the same figures.
void ensure_memory(const core::Communicator& comm, const Plan& plan, const sim::RankLayout& layout) {
  comm.agree([&] {
    core::ensure(layout.memory.is_covered(), Fault::config, "{}", memory_shortage(plan, layout.memory));
  });
}

bool is_made(const core::OutputDirectory& output, const core::SimulationRecord& record) {
  const std::vector<std::string> files = record.files();
  return std::all_of(files.begin(), files.end(),
                     [&](const auto& file) { return output.find(file) != nullptr; });
}

/// The universes of the plan's slice that are not there yet.
std::vector<core::SimulationRecord> missing_universes(const core::OutputDirectory& output, const Plan& plan,
                                                      const core::SimulationManifest& suite) {
  std::vector<core::SimulationRecord> missing;
  std::copy_if(suite.simulations.begin(), suite.simulations.end(), std::back_inserter(missing),
               [&](const core::SimulationRecord& record) {
                 return record.index >= plan.slice.first && record.index < plan.slice.last &&
                        !is_made(output, record);
               });
  return missing;
}

/// Lets groups of ranks make universes, a round of one a group at a time. Collective.
void make_universes(const core::Invocation& run, core::OutputDirectory& output, const Plan& plan,
                    const std::vector<core::SimulationRecord>& universes, int ranks_per_simulation) {
  const bool one = universes.size() == 1;
  core::Progress progress(run.log, one ? "steps" : "universes",
                          one ? plan.numerics.steps : static_cast<std::int64_t>(universes.size()));
  const core::Communicator group = run.comm.split(run.comm.rank() / ranks_per_simulation);
  std::vector<core::FileRecord> finished;
  core::in_rounds(
      run.comm, group, universes.size(),
      [&](std::size_t i) {
        sim::SimulationConfig config = plan.numerics;
        config.box_size = plan.box.mpc_h(universes[i].cosmology.h);
        finished = sim::make_universe(group, output, config, universes[i], plan.grid, [&](const sim::Step&) {
          if (one) progress.advance();
        });
      },
      [&](std::size_t items) {
        output.record(finished);
        finished.clear();
        if (!one) progress.advance(static_cast<std::int64_t>(items));
      });
}

void warn_of_lattice(const core::Log& log, const Plan& plan) {
  const double spacing = plan.numerics.particle_grid().cell_size();
  if (spacing <= kSparse) return;
  log.warn("particles are {:.1f} Mpc/h apart: above {} Mpc/h counts on large scales still show the lattice.",
           spacing, kSparse);
}

/// Writes the manifest if every universe is there; returns how many are not. Collective.
std::int64_t finish(const core::Invocation& run, core::OutputDirectory& output,
                    const core::SimulationManifest& suite) {
  std::vector<std::string> needed;
  for (const core::SimulationRecord& record : suite.simulations) {
    for (std::string& file : record.files()) needed.push_back(std::move(file));
  }
  if (output.up_to_date() || output.finish_if_all(needed, run.tool, suite.details(), run.facts)) return 0;
  return std::count_if(suite.simulations.begin(), suite.simulations.end(),
                       [&](const auto& record) { return !is_made(output, record); });
}

/// The last word of a run that made `made` universes and leaves `left` to other slices.
std::string conclusion(const Plan& plan, const Json& summary, std::size_t made, std::int64_t left) {
  std::string text = fmt::format("{} is up to date", plan.output);
  if (made > 0) {
    text = fmt::format("{}: {} universe{} in {}; at most {} of memory a rank, {} predicted", plan.output,
                       made, made == 1 ? "" : "s", core::format_duration(summary.at("seconds")),
                       core::format_bytes(summary.at("peak_rss_bytes")),
                       core::format_bytes(summary.at("memory_bytes_per_rank")));
  }
  if (left > 0) text += fmt::format("; {} of {} universes are left to other slices", left, plan.simulations);
  return text + "\n";
}

/// The plan of the command line, and how the ranks share it. Collective.
std::pair<Plan, sim::RankLayout> read_request(const core::Invocation& run) {
  Plan plan;
  int asked = 0;
  run.comm.agree([&] {
    plan = read_plan(run.options);
    if (!run.options.given("ranks-per-simulation")) return;
    asked = static_cast<int>(run.options.integer("ranks-per-simulation", 1, 1'000'000));
  });
  const sim::RankLayout layout = sim::choose_layout(run.comm, asked, plan.universes_to_make(),
                                                    [&](int ranks) { return memory_of(plan, ranks); });
  return {plan, layout};
}

void run_generate(const core::Invocation& run) {
  const auto start = std::chrono::steady_clock::now();
  const auto [plan, layout] = read_request(run);
  explain_table(run.log, plan);
  const core::Request request = request_of(plan);
  Json summary = summary_of(plan, request, layout);
  if (run.options.flag("dry-run")) {
    if (!layout.memory.is_covered()) run.log.warn("{}", memory_shortage(plan, layout.memory));
    return run.report(summary, describe(plan, summary) + "\n");
  }
  const bool finished = std::filesystem::exists(std::filesystem::path(plan.output) / core::kManifestName);
  if (!finished) ensure_memory(run.comm, plan, layout);  // before the directory is touched

  core::OutputDirectory output(run.comm, run.log, plan.output, request, {run.options.flag("force"), {}},
                               plan.slice);
  const core::SimulationManifest suite = suite_of(plan);
  const std::vector<core::SimulationRecord> missing = missing_universes(output, plan, suite);
  if (!missing.empty()) {
    ensure_memory(run.comm, plan, layout);
    warn_of_lattice(run.log, plan);
    run.log.info("{}; {} ranks x {} threads, {} a universe", describe(plan, summary), run.comm.size(),
                 run.threads, layout.ranks_per_simulation);
    make_universes(run, output, plan, missing, layout.ranks_per_simulation);
  }
  const std::int64_t left = finish(run, output, suite);
  summary["up_to_date"] = missing.empty();
  summary["simulations_made"] = missing.size();
  summary["simulations_left"] = left;
  summary["peak_rss_bytes"] = run.comm.max(core::peak_resident_memory());
  summary["seconds"] = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  run.report(summary, conclusion(plan, summary, missing.size(), left));
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
