#include "sim/tool/suite_plan.hpp"

#include <algorithm>
#include <array>
#include <filesystem>

#include "core/error.hpp"
#include "core/named.hpp"
#include "sim/gravity/force_kernel.hpp"
#include "sim/nbody/integrator.hpp"
#include "sim/suite/design_table.hpp"

namespace cosmo::sim {

using core::Fault;
using core::Json;

namespace {

/// "omega-m" for "omega_m".
std::string option_name(std::string_view parameter) {
  std::string name(parameter);
  for (char& letter : name) {
    if (letter == '_') letter = '-';
  }
  return name;
}

/// Reads the universes of --design FILE. Its parameters may not be given as options as well.
void read_design(const core::Options& options, const std::string& path, std::uint64_t seed, Plan& plan) {
  core::ensure(
      plan.varying.size() == 0, Fault::config,
      "--{} is a range and --design {} states each universe: give a number, or a column in the file.",
      plan.varying.size() == 0 ? "" : option_name(plan.varying.names.front()), path);
  core::ensure(std::filesystem::exists(path), Fault::io,
               "--design {} is neither uniform nor sobol nor a file: correct the name.", path);
  DesignTable table = read_design_table(path, plan.base, options.flag("allow-leak"));
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
  plan.universes = table_design(plan.base, table, seed);
  plan.varying = core::varying_in(plan.universes);
  if (table.seeds.empty()) plan.seed = seed;
  plan.base = plan.universes.front().cosmology;
  plan.design = {{"table_sha256", table.sha256()}};
}

/// The output redshifts in ascending order.
std::vector<double> read_redshifts(const core::Options& options) {
  std::vector<double> redshifts = options.numbers("redshifts");
  std::sort(redshifts.begin(), redshifts.end());
  for (double& redshift : redshifts) redshift += 0.0;  // -0 is 0
  return redshifts;
}

/// The universes I <= i < J of --select I:J.
core::Slice read_slice(const core::Options& options, int simulations) {
  if (!options.given("select")) return {};
  const auto [first, last] = options.interval("select", simulations);
  return {first, last};
}

/// Reads the values of the parameters and the universes that follow.
void read_universes(const core::Options& options, Plan& plan) {
  plan.simulations =
      options.given("simulations") ? static_cast<int>(options.integer("simulations", 1, 1'000'000)) : 1;
  for (const core::CosmologyParameter& row : core::kCosmologyParameters) {
    const auto [low, high] = options.range(option_name(row.name));
    plan.base.*row.member = low;
    if (low < high) plan.varying.add(row.name, low, high);
  }
  const std::string& design = options.text("design");
  const std::uint64_t seed = options.seed("seed");
  if (design != "uniform" && design != "sobol") return read_design(options, design, seed, plan);
  const auto draw = design == "sobol" ? sobol_design : uniform_design;
  plan.universes = draw(plan.base, plan.varying, plan.simulations, seed);
  plan.seed = seed;
  plan.design = design;
}

/// Throws Error{config} if a parameter varies that a table of the spectrum fixes.
void ensure_fixed(const Plan& plan, const SpectrumTable& table) {
  for (const std::string& name : plan.varying.names) {
    const bool shape = name == "omega_m" || name == "h" || name == "omega_b" ||
                       (name == "n_s" && table.kind == SpectrumTable::Kind::power);
    core::ensure(!shape, Fault::config,
                 "--{} varies and --transfer {} is the spectrum of one {}: fix it, or use {}.",
                 option_name(name), table.path, name, kTransferFunctions.front().name);
  }
}

void read_transfer(const core::Options& options, Plan& plan) {
  plan.numerics.transfer = options.text("transfer");
  if (core::find_row(kTransferFunctions, plan.numerics.transfer) != nullptr) return;
  core::ensure(std::filesystem::exists(plan.numerics.transfer), Fault::io,
               "--transfer {} is not {}, and not a file: correct the name.", plan.numerics.transfer,
               core::alternatives(core::names_in(kTransferFunctions)));
  plan.numerics.table = read_spectrum_table(plan.numerics.transfer);
  ensure_fixed(plan, *plan.numerics.table);
}

/// Reads the file of --white-noise, whose phases the plan's universe then has.
void read_white_noise(const core::Options& options, Plan& plan) {
  if (!options.given("white-noise")) return;
  const std::string& path = options.text("white-noise");
  core::ensure(plan.simulations == 1, Fault::config,
               "--white-noise {} has the phases of one universe and {} are to be made: make them one by one, "
               "each from its own file.",
               path, plan.simulations);
  core::ensure(plan.seed && !options.chosen("seed"), Fault::config,
               "--white-noise {} states the phases and so does {}: leave one out.", path,
               plan.seed ? "--seed" : "the design's column seed");
  plan.numerics.noise = open_noise(path, plan.numerics.particles_per_side);
  plan.universes.front().seed = plan.numerics.noise->seed();
}

/// The fit for the settings and boxes of all universes. Throws Error{config} naming what the fit is not for.
GradientDescent fitted_descent(const Plan& plan) {
  const SimulationConfig& numerics = plan.numerics;
  core::ensure(
      numerics.integrator == "cola" && numerics.z_initial == 9 && numerics.redshifts == std::vector{0.0},
      Fault::config,
      "--gradient-descent fitted is for --integrator cola, --z-initial 9 and --redshifts 0: "
      "give these, or ALPHA,KL,KS.");
  GradientDescent descent;
  for (const core::Universe& universe : plan.universes) {
    const double box = plan.box.mpc_h(universe.cosmology.h);
    descent = find_descent(numerics.force_kernel, numerics.lpt_order, box / numerics.particles_per_side,
                           box / numerics.mesh_per_side, numerics.steps);
  }
  return descent;
}

/// --gradient-descent. Throws Error{usage} unless it is `fitted` or three numbers, Error{config} if they or the settings are
/// impossible.
GradientDescent read_descent(const core::Options& options, const Plan& plan) {
  if (!options.given("gradient-descent")) return {};
  const std::string& text = options.text("gradient-descent");
  if (text == "fitted") return fitted_descent(plan);
  core::ensure(std::ranges::count(text, ',') == 2, Fault::usage,
               "--gradient-descent is '{}': give fitted, or three numbers ALPHA,KL,KS.", text);
  const std::vector<double> numbers = options.numbers("gradient-descent");
  const auto possible = [](double k) { return k >= 1e-3 && k <= 1e3; };
  constexpr double kMostDescent = 10;  // particles then go ten times as far as their displacement
  core::ensure(
      numbers[0] != 0 && std::abs(numbers[0]) <= kMostDescent && possible(numbers[1]) && possible(numbers[2]),
      Fault::config,
      "--gradient-descent is '{}': choose ALPHA between -{} and {} but not 0, KL and KS between 0.001 and "
      "1000 h/Mpc.",
      text, kMostDescent, kMostDescent);
  return {numbers[0], numbers[1], numbers[2]};
}

/// Throws Error{config}, in the given unit, unless all universes have a possible box.
void validate_box(const Plan& plan) {
  constexpr double kSmallest = 1, kLargest = 1e5;  // [Mpc/h], as validate(SimulationConfig)
  for (const core::Universe& universe : plan.universes) {
    const double unit = core::Length(1, plan.box.unit).mpc_h(universe.cosmology.h);
    core::ensure(plan.box.value * unit >= kSmallest && plan.box.value * unit <= kLargest, Fault::config,
                 "--box is {} {}: choose a value between {:.6g} and {:.6g}.", plan.box.value,
                 name_of(plan.box.unit), kSmallest / unit, kLargest / unit);
  }
}

/// The name of the transfer function, or the kind and SHA-256 of its table, whose path does not matter.
Json transfer_record(const SimulationConfig& numerics) {
  if (!numerics.table) return numerics.transfer;
  const bool power = numerics.table->kind == SpectrumTable::Kind::power;
  return {{"table", power ? "power" : "transfer"}, {"sha256", numerics.table->sha256}};
}

core::SimulationRecord record_of(const Plan& plan, std::size_t index) {
  const std::string folder = fmt::format("sim-{:05}/", index);
  core::SimulationRecord record{static_cast<std::uint32_t>(index), plan.universes[index], {}, {}};
  for (const double z : plan.numerics.redshifts) {
    record.outputs.push_back({z, plan.save_counts ? folder + core::counts_name(z) : "",
                              plan.save_particles ? folder + core::snapshot_name(z) : ""});
  }
  if (plan.numerics.power_spectra) record.power_spectrum = folder + core::kPowerSpectrumName;
  if (plan.numerics.correlation_functions)
    record.correlation_function = folder + core::kCorrelationFunctionName;
  if (plan.numerics.bispectra) record.bispectrum = folder + core::kBispectrumName;
  return record;
}

}  // namespace

void declare_suite(core::Options& options) {
  options.add("simulations N", std::nullopt, "universes to make [1, or the rows of --design FILE]");
  options.add("design NAME|FILE", "uniform",
              "how varying parameters are drawn: uniform, sobol (evenly), or a FILE.csv whose header names "
              "parameters (and seed) and whose rows are universes",
              {"uniform", "sobol"});
  options.begin_group("Parameters of the universes");
  const core::Cosmology defaults;
  for (const core::CosmologyParameter& row : core::kCosmologyParameters) {
    options.add(option_name(row.name) + " X|LOW:HIGH", fmt::format("{}", defaults.*row.member),
                fmt::format("{}; LOW:HIGH makes it vary", row.meaning));
  }
  options.add_flag("radiation",
                   "photons of 2.7255 K and 3.046 massless neutrinos in the expansion and the growth");
  options.add("seed N", "1", "seed of everything random; each universe gets its own from it");
  options.begin_group("Simulation");
  options.add("box LENGTH", "512", "side of the periodic box, Mpc/h; 731.43Mpc: in Mpc, independent of h");
  options.add("particles N", "256", "particles per side");
  options.add("mesh N", std::nullopt, "cells per side of the force mesh [= particles]");
  options.add(
      "force-kernel", std::nullopt,
      fmt::format("differences that turn the potential into forces: {} [{}, but {} if the mesh is finer than "
                  "the particles]",
                  core::meanings_in(kForceKernels), best_force_kernel(1, 1), best_force_kernel(2, 1)),
      core::names_in(kForceKernels));
  options.add("integrator", std::string(kIntegrators.front().name),
              "how particles move: " + core::meanings_in(kIntegrators), core::names_in(kIntegrators));
  options.add("steps N", "10", "time steps");
  options.add("z-initial Z", "9", "redshift at which the steps begin");
  options.add("lpt-order N", "2",
              "order of the Lagrangian perturbation theory of the start: 2, or 3, which takes more memory");
  options.add("redshifts Z,...", "0", "output redshifts, separated by commas, up to --z-initial");
  options.begin_group("Initial conditions");
  options.add("transfer NAME|FILE", std::string(kTransferFunctions.front().name),
              fmt::format("transfer function: {}; or a FILE of CAMB or CLASS with k in h/Mpc: two columns k, "
                          "P, or a transfer table",
                          core::meanings_in(kTransferFunctions)),
              core::names_in(kTransferFunctions));
  options.add_flag("fixed-amplitude",
                   "give every initial mode its expected amplitude, only phases are random");
  options.add_flag(
      "allow-leak",
      "let rows of a --design FILE share seeds, and so initial phases, for experiments with that");
  options.add("f-nl X", "0",
              "local non-Gaussianity of the potential in the matter era, the CMB's convention");
  options.add("white-noise FILE", std::nullopt,
              "FILE of unit white noise, grafic (MUSIC, monofonIC) or .npy, of --particles values per side, "
              "instead of a seed's [none]");
  options.add_flag("paired", "flip the sign of the initial field: the partner of the same run without it");
  options.begin_group("What is written, and by whom");
  options.add(
      "gradient-descent ALPHA,KL,KS", std::nullopt,
      "sharpens the haloes of outputs as a finer mesh would: fitted, for the settings of docs/cola.md and by sigma8, or "
      "ALPHA,KL,KS with KL and KS in h/Mpc [none]");
  options.add("save", "counts", "what to write at each redshift: counts, particles or both",
              {"counts", "particles", "both"});
  options.add("redshift-space AXIS", std::nullopt,
              "x, y or z: outputs as an observer far along that axis sees them, moved by their velocities "
              "[none: real space]",
              {"x", "y", "z"});
  options.add("grid N", std::nullopt, "voxels per side of the counts [= particles / 2]");
  options.add_switch("power-spectrum", true, "write each universe's P(k), a table: on or off");
  options.add_switch("correlation-function", false, "write each universe's ξ(r), a table: on or off");
  options.add_switch("bispectrum", false,
                     "write each universe's B of equilateral and squeezed triangles, a table: on or off");
  options.add("select I:J", std::nullopt,
              "I:J makes only universes I to J - 1; processes with other slices may share --output [all]");
  options.add("ranks-per-simulation N", std::nullopt,
              "ranks per universe, a divisor of the run's ranks [the fewest whose memory suffices]");
}

Plan read_plan(const core::Options& options) {
  Plan plan;
  plan.output = options.text("output");
  read_universes(options, plan);
  SimulationConfig& numerics = plan.numerics;
  numerics.universe.cosmology = plan.base;
  plan.box = core::parse_length(options.text("box"), "--box");
  validate_box(plan);
  numerics.box_size = plan.box.mpc_h(plan.base.h);
  numerics.particles_per_side = static_cast<int>(options.integer("particles", 4, 8192));
  numerics.mesh_per_side = options.given("mesh") ? static_cast<int>(options.integer("mesh", 4, 8192))
                                                 : numerics.particles_per_side;
  numerics.force_kernel = options.given("force-kernel")
                              ? options.entry("force-kernel", kForceKernels).name
                              : best_force_kernel(numerics.mesh_per_side, numerics.particles_per_side);
  numerics.integrator = options.entry("integrator", kIntegrators).name;
  numerics.steps = static_cast<int>(options.integer("steps", 1, 10'000));
  numerics.z_initial = options.number("z-initial");
  numerics.redshifts = read_redshifts(options);
  const std::string& save = options.choice("save");
  plan.save_counts = save != "particles";
  plan.save_particles = save != "counts";
  if (options.given("redshift-space")) numerics.line_of_sight = options.choice("redshift-space");
  numerics.ids = plan.save_particles;
  numerics.momenta = plan.save_particles || !numerics.line_of_sight.empty();
  numerics.power_spectra = options.is_on("power-spectrum");
  numerics.correlation_functions = options.is_on("correlation-function");
  numerics.bispectra = options.is_on("bispectrum");
  read_transfer(options, plan);
  read_white_noise(options, plan);
  numerics.radiation = options.flag("radiation");
  numerics.lpt_order = static_cast<int>(options.integer("lpt-order", 2, 3));
  numerics.descent = read_descent(options, plan);
  numerics.f_nl = options.number("f-nl");
  numerics.amplitude = options.flag("fixed-amplitude") ? Amplitude::fixed : Amplitude::random;
  numerics.partner = options.flag("paired") ? Partner::flipped : Partner::none;
  const int grid = options.given("grid") ? static_cast<int>(options.integer("grid", 1, 8192))
                                         : numerics.particles_per_side / 2;
  core::ensure(
      grid >= numerics.particles_per_side / kMostPerCell, Fault::config,
      "--grid {} is too coarse for --particles {}: choose at least one voxel for {} particles per side.",
      grid, numerics.particles_per_side, kMostPerCell);
  plan.grid = plan.save_counts ? grid : 0;
  plan.slice = read_slice(options, plan.simulations);
  const bool grouped = options.given("ranks-per-simulation");
  plan.ranks_per_simulation =
      grouped ? static_cast<int>(options.integer("ranks-per-simulation", 1, 1'000'000)) : 0;
  return plan;
}

core::Request request_of(const Plan& plan) {
  const SimulationConfig& numerics = plan.numerics;
  Json config = {{"method", kMethod},
                 {"simulations", plan.simulations},
                 {"design", plan.design},
                 {"particles_per_side", numerics.particles_per_side},
                 {"mesh_per_side", numerics.mesh_per_side},
                 {"steps", numerics.steps},
                 {"z_initial", numerics.z_initial},
                 {"redshifts", numerics.redshifts},
                 {"transfer", transfer_record(numerics)},
                 {"force_kernel", numerics.force_kernel},
                 {"fixed_amplitude", numerics.amplitude == Amplitude::fixed},
                 {"paired", numerics.partner == Partner::flipped},
                 {"save_counts", plan.save_counts},
                 {"save_particles", plan.save_particles},
                 {"power_spectrum", numerics.power_spectra}};
  // Requests without them have the ids of earlier versions.
  if (numerics.integrator != kIntegrators.front().name) config["integrator"] = numerics.integrator;
  if (numerics.correlation_functions) config["correlation_function"] = true;
  if (numerics.bispectra) config["bispectrum"] = true;
  if (plan.seed) config["seed"] = *plan.seed;
  if (plan.save_counts) config["grid"] = plan.grid;
  if (!numerics.line_of_sight.empty()) config[core::kLineOfSightKey] = numerics.line_of_sight;
  if (numerics.radiation) config["radiation"] = true;
  if (numerics.lpt_order != 2) config["lpt_order"] = numerics.lpt_order;
  if (numerics.descent.alpha != 0) {
    const auto& [alpha, long_wave, short_wave, growth] = numerics.descent;
    config["gradient_descent"] = {alpha, long_wave, short_wave};
    if (growth != 0) config["gradient_descent"].push_back(growth);
  }
  if (numerics.f_nl != 0) config["f_nl"] = numerics.f_nl;
  if (numerics.noise) config["white_noise"] = {{"sha256", numerics.noise->sha256}};
  core::write_length(config, "box", plan.box);
  for (const core::CosmologyParameter& row : core::kCosmologyParameters) {
    config[std::string(row.name)] = plan.base.*row.member;
  }
  for (std::size_t p = 0; p < plan.varying.size(); ++p)
    config[plan.varying.names[p]] = {plan.varying.low[p], plan.varying.high[p]};
  return {"generate", config, {}};
}

core::SimulationManifest suite_of(const Plan& plan) {
  core::SimulationManifest suite{{}, plan.varying, plan.box, plan.grid, {}};
  suite.line_of_sight = plan.numerics.line_of_sight;
  for (std::size_t i = 0; i < plan.universes.size(); ++i) suite.simulations.push_back(record_of(plan, i));
  return suite;
}

}  // namespace cosmo::sim
