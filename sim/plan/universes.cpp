#include "sim/plan/universes.hpp"

#include <algorithm>
#include <array>
#include <filesystem>

#include "core/error.hpp"
#include "core/universe/cosmology.hpp"
#include "sim/suite/design_table.hpp"

namespace cosmo::sim {

using core::Fault;

namespace {

/// Parameters that most suites vary.
constexpr std::array<std::string_view, 3> kUsuallyVary = {"omega_m", "sigma8", "n_s"};

/// The universes of the file `path`. Its parameters may not be given as options as well.
void read_design(const core::Options& options, const std::string& path, std::optional<int> simulations,
                 std::uint64_t seed, Universes& universes) {
  core::ensure(
      universes.varying.size() == 0, Fault::config,
      "--{} is a range and --design {} states each universe: give a number, or a column in the file.",
      universes.varying.size() == 0 ? "" : option_of(universes.varying.names.front()), path);
  core::ensure(std::filesystem::exists(path), Fault::io,
               "--design {} is neither uniform nor sobol nor a file: correct the name.", path);
  DesignTable table = read_design_table(path, universes.base, options.flag("allow-leak"));
  for (const std::string& name : table.names) {
    core::ensure(!options.chosen(option_of(name)), Fault::config,
                 "--{} is given and --design {} has a column {}: leave one out.", option_of(name), path,
                 name);
  }
  if (simulations) {
    const auto size = static_cast<std::size_t>(*simulations);
    core::ensure(size <= table.values.size(), Fault::config,
                 "--simulations is {} and --design {} has {} universes: ask for that many or fewer.", size,
                 path, table.values.size());
    table.keep(size);
  }
  universes.list = table_design(universes.base, table, seed);
  universes.varying = core::varying_in(universes.list);
  if (table.seeds.empty()) universes.seed = seed;
  universes.base = universes.list.front().cosmology;
  universes.design = {{"table_sha256", table.sha256()}};
}

/// Each universe `times` times in a row.
std::vector<core::Universe> repeated(const std::vector<core::Universe>& list, int times) {
  std::vector<core::Universe> all;
  for (const core::Universe& universe : list)
    all.insert(all.end(), static_cast<std::size_t>(times), universe);
  return all;
}

/// The universes I <= i < J of --select I:J.
core::Slice read_slice(const core::Options& options, int simulations) {
  if (!options.given("select")) return {};
  const auto [first, last] = options.interval("select", simulations);
  return {first, last};
}

}  // namespace

std::string option_of(std::string_view parameter) {
  std::string name(parameter);
  std::ranges::replace(name, '_', '-');
  return name;
}

void Universes::declare(core::Options& options) {
  constexpr const char* kTitle = "Universes";
  options.begin_group(core::kEveryDay);
  options.add("simulations N", std::nullopt, "universes to make [1, or the rows of --design FILE]");
  options.add("design NAME|FILE", "uniform",
              "how varying parameters are drawn: uniform, sobol (evenly), or a FILE.csv whose header names "
              "parameters (and seed) and whose rows are universes",
              {"uniform", "sobol"});
  const core::Cosmology defaults;
  for (const core::CosmologyParameter& row : core::kCosmologyParameters) {
    const bool usual = std::ranges::find(kUsuallyVary, row.name) != kUsuallyVary.end();
    options.begin_group(usual ? core::kEveryDay : kTitle);
    options.add(option_of(row.name) + " X|LOW:HIGH", fmt::format("{}", defaults.*row.member),
                fmt::format("{}; LOW:HIGH makes it vary", row.meaning));
  }
  options.begin_group(core::kEveryDay);
  options.add("seed N", "1", "seed of everything random; each universe gets its own from it");
  options.begin_group(kTitle);
  options.add(
      "twins K", "1",
      "universes of each seed and parameters, K in a row, that differ in the settings that vary (--steps, --mesh, ...)");
  options.add("select I:J", std::nullopt,
              "I:J makes only universes I to J - 1; processes with other slices may share --output [all]");
  options.begin_group(core::kForExperts);
  options.add_flag(
      "allow-leak",
      "let rows of a --design FILE share seeds, and so initial phases, for experiments with that");
  options.add("ranks-per-simulation N", std::nullopt,
              "ranks per universe, a divisor of the run's ranks [the fewest whose memory suffices]");
}

Universes Universes::read(const core::Options& options) {
  Universes universes;
  std::optional<int> simulations;
  if (options.given("simulations"))
    simulations = static_cast<int>(options.integer("simulations", 1, 1'000'000));
  for (const core::CosmologyParameter& row : core::kCosmologyParameters) {
    const auto [low, high] = options.range(option_of(row.name));
    universes.base.*row.member = low;
    if (low < high) universes.varying.add(row.name, low, high);
  }
  const std::string& design = options.text("design");
  const std::uint64_t seed = options.seed("seed");
  if (design == "uniform" || design == "sobol") {
    const auto draw = design == "sobol" ? sobol_design : uniform_design;
    universes.list = draw(universes.base, universes.varying, simulations.value_or(1), seed);
    universes.seed = seed;
    universes.design = design;
  } else {
    read_design(options, design, simulations, seed, universes);
  }
  universes.seed_of_settings = seed;
  universes.twins = static_cast<int>(options.integer("twins", 1, 1000));
  universes.list = repeated(universes.list, universes.twins);
  universes.slice = read_slice(options, universes.size());
  if (options.given("ranks-per-simulation"))
    universes.ranks_each = static_cast<int>(options.integer("ranks-per-simulation", 1, 1'000'000));
  return universes;
}

void Universes::identify(core::Json& config) const {
  config["simulations"] = size() / twins;
  if (twins > 1) config["twins"] = twins;
  if (!grown.empty()) config["grown_from"] = grown;
  config["design"] = design;
  if (seed) config["seed"] = *seed;
  for (const core::CosmologyParameter& row : core::kCosmologyParameters)
    config[std::string(row.name)] = base.*row.member;
  for (std::size_t p = 0; p < varying.size(); ++p)
    config[varying.names[p]] = {varying.low[p], varying.high[p]};
}

void Universes::state(core::Facts& facts) const {
  for (const core::CosmologyParameter& row : core::kCosmologyParameters)
    facts.insert_or_assign(std::string(row.name), base.*row.member);
  for (std::size_t p = 0; p < varying.size(); ++p)
    facts.insert_or_assign(varying.names[p], core::Fact(varying.low[p], varying.high[p]));
}

std::string Universes::describe() const {
  const std::string text = fmt::format("{} universe{}", size(), size() == 1 ? "" : "s");
  return twins == 1 ? text : fmt::format("{}, {} twins of each,", text, twins);
}

Placement Universes::settings() const {
  const Placement place =
      design == "sobol" ? sobol_placement(seed_of_settings) : uniform_placement(seed_of_settings);
  return [place](std::uint32_t index, std::uint32_t row, std::uint32_t attempt) {
    return place(index, kFirstSettingRow + row, attempt);
  };
}

int Universes::selected() const {
  return static_cast<int>(std::min<std::int64_t>(slice.last, size()) - slice.first);
}

}  // namespace cosmo::sim
