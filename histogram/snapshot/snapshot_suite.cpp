#include "histogram/snapshot/snapshot_suite.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "core/error.hpp"
#include "core/file/checksum.hpp"
#include "core/parallel/rounds.hpp"

namespace cosmo::histogram {

using core::ensure;
using core::Fault;
using core::Json;

namespace {

constexpr double kRounding = 1e-6;  ///< allowed relative difference of numbers from different files

SnapshotFacts facts_of(const std::filesystem::path& path, const GadgetReading& reading) {
  if (std::filesystem::is_regular_file(path)) core::check_in_suite(path);
  const WeighedSnapshot weighed = open_snapshot(core::Communicator::self(), path, reading);
  const GadgetSnapshot& snapshot = weighed.snapshot;
  SnapshotFacts facts{weighed.counts(),
                      snapshot.remarks(),
                      density_of(snapshot, weighed.masses),
                      types_not_counted(snapshot),
                      snapshot.box_size() / snapshot.units_per_mpc_h(),
                      snapshot.units_per_mpc_h(),
                      snapshot.redshift(),
                      snapshot.float_bytes(),
                      snapshot.seed(),
                      snapshot.parameters(),
                      {},
                      snapshot.line_of_sight(),
                      snapshot.watched()};
  for (const std::filesystem::path& file : snapshot.files()) facts.files.push_back(file.string());
  return facts;
}

Json to_json(const SnapshotFacts& facts) {
  return {facts.particles,  facts.remarks,     facts.density ? Json(*facts.density) : Json(nullptr),
          facts.others,     facts.box_size,    facts.units_per_mpc_h,
          facts.redshift,   facts.float_bytes, facts.seed ? Json(*facts.seed) : Json(nullptr),
          facts.parameters, facts.files,       facts.line_of_sight,
          facts.watched};
}

SnapshotFacts to_facts(const Json& json) {
  return {json[0], json[1],  json[2].is_null() ? std::nullopt : std::optional<double>(json[2]),
          json[3], json[4],  json[5],
          json[6], json[7],  json[8].is_null() ? std::nullopt : std::optional<std::uint64_t>(json[8]),
          json[9], json[10], json[11],
          json[12]};
}

/// Throws Error{config} if the table has another redshift or box than the snapshot.
void check_columns(const SnapshotRow& row, const SnapshotFacts& facts) {
  constexpr double kTyped = 0.01;  // tables round
  const auto near = [](double a, double b) { return std::abs(a - b) <= kTyped * std::abs(b); };
  ensure(!row.redshift || near(1 + *row.redshift, 1 + facts.redshift), Fault::config,
         "{} has the redshift {} and the snapshot has {}: correct the table.", row.place,
         row.redshift.value_or(0), facts.redshift);
  ensure(!row.box_size || near(*row.box_size, facts.box_size) ||
             near(*row.box_size, facts.box_size * facts.units_per_mpc_h),
         Fault::config, "{} has a box of {} and the snapshot has one of {} Mpc/h: correct the table.",
         row.place, row.box_size.value_or(0), facts.box_size);
}

/// The universe of a line, and the parameters that have to be assumed.
SettledCosmology cosmology_of(const SnapshotRow& row, const SnapshotFacts& facts,
                              const StatedParameters& stated) {
  check_columns(row, facts);
  StatedParameters user = stated;
  for (const auto& [name, value] : row.parameters) {
    const bool fresh = user.emplace(name, StatedParameter{value, row.place + ": " + name}).second;
    ensure(fresh, Fault::config, "{} is given and the table has a column {}: leave one out.",
           stated.contains(name) ? stated.at(name).where : "", name);
  }
  try {
    return settle_cosmology(user, facts.parameters);
  } catch (const core::Error& error) {
    if (std::string_view(error.what()).starts_with(row.place)) throw;
    throw core::Error(error.fault(), fmt::format("{}: {}", row.place, error.what()));
  }
}

std::uint64_t seed_of(const SnapshotRow& row, const SnapshotFacts& facts) {
  ensure(!row.seed || !facts.seed || *row.seed == *facts.seed, Fault::config,
         "{} has the seed {} and the snapshot has {}: correct the table.", row.place, row.seed.value_or(0),
         facts.seed.value_or(0));
  return row.seed ? *row.seed : facts.seed.value_or(row.simulation);
}

/// The lines of each universe, in the order of their redshifts.
using LinesOfUniverses = std::map<std::uint32_t, std::vector<std::size_t>>;

LinesOfUniverses lines_of_universes(const std::vector<SnapshotRow>& table,
                                    const std::vector<SnapshotFacts>& facts) {
  LinesOfUniverses lines_of;
  for (std::size_t i = 0; i < table.size(); ++i) lines_of[table[i].simulation].push_back(i);
  for (auto& [simulation, lines] : lines_of) {
    std::ranges::stable_sort(lines, {}, [&](std::size_t i) { return facts[i].redshift; });
    const auto twin = std::ranges::adjacent_find(lines, {}, [&](std::size_t i) { return facts[i].redshift; });
    ensure(twin == lines.end(), Fault::config,
           "{} is a snapshot of simulation {} at z = {}, as another line is: give each universe its number.",
           table[twin == lines.end() ? 0 : twin[1]].place, simulation,
           facts[twin == lines.end() ? 0 : twin[1]].redshift);
  }
  return lines_of;
}

/// The box that all lines share, in Mpc/h or otherwise in Mpc.
core::Length common_box(const std::vector<SnapshotRow>& table, const std::vector<SnapshotFacts>& facts,
                        const std::vector<core::Universe>& universes) {
  std::size_t odd = 0;
  for (const core::LengthUnit unit : {core::LengthUnit::mpc_h, core::LengthUnit::mpc}) {
    const auto side = [&](std::size_t i) {
      return facts[i].box_size / core::Length(1, unit).mpc_h(universes[i].cosmology.h);
    };
    const double first = side(0);
    std::size_t i = 1;
    while (i < facts.size() && std::abs(side(i) / first - 1) <= kRounding) ++i;
    if (i == facts.size()) return {first, unit};
    odd = i;
  }
  core::fail(Fault::config,
             "{} has a box of {} Mpc/h and {} one of {}: use universes of the same size, in Mpc/h or in Mpc.",
             table[0].place, facts[0].box_size, table[odd].place, facts[odd].box_size);
}

/// Throws Error{config} unless the lines of each universe agree and no two universes share their phases.
void check_universes(const std::vector<SnapshotRow>& table, const std::vector<SnapshotFacts>& facts,
                     const std::vector<core::Universe>& universes, const LinesOfUniverses& lines_of) {
  std::map<std::uint64_t, std::uint32_t> simulation_of;
  for (const auto& [simulation, lines] : lines_of) {
    const std::size_t first = lines.front();
    const std::uint64_t seed = universes[first].seed;
    for (const std::size_t i : lines) {
      ensure(universes[i] == universes[first], Fault::config,
             "{} and {} are of simulation {} but differ in seed or parameters: correct the table.",
             table[first].place, table[i].place, simulation);
      ensure(facts[i].particles == facts[0].particles, Fault::config,
             "{} has {} particles and {} has {}: use universes with equal numbers.", table[0].place,
             facts[0].particles, table[i].place, facts[i].particles);
      ensure(facts[i].line_of_sight == facts[0].line_of_sight, Fault::config,
             "{} is in {} and {} in {}: use snapshots of one space.", table[0].place,
             core::describe_space(facts[0].line_of_sight), table[i].place,
             core::describe_space(facts[i].line_of_sight));
    }
    const auto [twin, fresh] = simulation_of.emplace(seed, simulation);
    ensure(fresh, Fault::config,
           "Simulations {} and {} have the seed {}: universes of one seed share their phases, give each its "
           "own.",
           twin->second, simulation, seed);
  }
}

/// What all snapshots state, without the parameters `unstated`.
core::Facts facts_of(const SnapshotSuite& suite, const std::set<std::string>& unstated) {
  std::optional<core::Facts> facts;
  for (const PlannedCounts& counts : suite.counts) {
    const core::Facts own = core::facts_of(counts.header, suite.manifest.box_size.unit);
    facts = facts ? core::joined(std::move(*facts), own) : own;
  }
  for (const std::string& name : unstated) facts->erase(name);
  return *facts;
}

}  // namespace

std::vector<std::string> sha256_of_files(const core::Communicator& comm, const core::Log& log,
                                         const std::vector<std::string>& files) {
  constexpr std::size_t kDigits = 64;
  std::vector<std::uint32_t> digits(files.size() * kDigits, 0);
  core::Progress progress(log, "files hashed", static_cast<std::int64_t>(files.size()));
  core::in_rounds(
      comm, files.size(),
      [&](std::size_t i) {
        std::ranges::copy(core::sha256_of_file(files[i]),
                          digits.begin() + static_cast<std::ptrdiff_t>(i * kDigits));
      },
      [&](std::size_t items) { progress.advance(static_cast<std::int64_t>(items)); });
  comm.sum(std::span(digits));  // the other ranks have 0
  std::vector<std::string> all;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const auto first = digits.begin() + static_cast<std::ptrdiff_t>(i * kDigits);
    all.emplace_back(first, first + kDigits);
  }
  return all;
}

std::vector<SnapshotFacts> survey_snapshots(const core::Communicator& comm, const core::Log& log,
                                            const std::vector<SnapshotRow>& table,
                                            const GadgetReading& reading) {
  Json mine = Json::array();
  core::Progress progress(log, "snapshots opened", static_cast<std::int64_t>(table.size()));
  core::in_rounds(
      comm, table.size(),
      [&](std::size_t i) {
        mine.push_back({i, to_json(facts_of(table[i].snapshot, reading))});
      },
      [&](std::size_t items) { progress.advance(static_cast<std::int64_t>(items)); });
  std::vector<SnapshotFacts> facts(table.size());
  for (const std::string& text : comm.gather(mine.dump())) {
    for (const Json& item : Json::parse(text)) facts[item[0]] = to_facts(item[1]);
  }
  return facts;
}

SnapshotSuite plan_snapshot_suite(const std::vector<SnapshotRow>& table,
                                  const std::vector<SnapshotFacts>& facts, const StatedParameters& stated,
                                  int grid) {
  std::vector<core::Universe> universes;  // (lines)
  std::set<std::string> assumed, unstated;
  std::vector<std::string> remarks;
  bool seeds_assumed = false;
  for (std::size_t i = 0; i < table.size(); ++i) {
    const SettledCosmology settled = cosmology_of(table[i], facts[i], stated);
    universes.push_back({seed_of(table[i], facts[i]), settled.cosmology});
    seeds_assumed = seeds_assumed || !(table[i].seed || facts[i].seed);
    for (const std::string& remark : facts[i].remarks)
      remarks.push_back(fmt::format("{}: {}", table[i].place, remark));
    const auto closure =
        facts[i].density ? closure_remark(*facts[i].density, settled.cosmology) : std::nullopt;
    if (closure) remarks.push_back(fmt::format("{}: {}", table[i].place, *closure));
    assumed.insert(settled.assumed.begin(), settled.assumed.end());
    unstated.insert(settled.unstated.begin(), settled.unstated.end());
  }
  const LinesOfUniverses lines_of = lines_of_universes(table, facts);
  check_universes(table, facts, universes, lines_of);
  SnapshotSuite suite;
  suite.manifest.box_size = common_box(table, facts, universes);
  suite.manifest.parameters = core::varying_in(universes);
  suite.manifest.grid = grid;
  suite.manifest.seeds_assumed = seeds_assumed;
  suite.manifest.line_of_sight = facts.front().line_of_sight;
  suite.counts.resize(table.size());
  suite.assumed.assign(assumed.begin(), assumed.end());
  suite.unstated.assign(unstated.begin(), unstated.end());
  suite.remarks = std::move(remarks);
  suite.others = facts.front().others;
  Json content = Json::array();
  for (const auto& [simulation, lines] : lines_of) {
    core::SimulationRecord record{simulation, universes[lines.front()], {}, {}};
    const double box = suite.manifest.box_size.mpc_h(record.universe.cosmology.h);
    for (const std::size_t i : lines) {
      const double redshift = facts[i].redshift;
      const std::string path = fmt::format("sim-{:05}/{}", simulation, core::counts_name(redshift));
      record.outputs.push_back({redshift, path, ""});
      suite.counts[i] = {table[i].snapshot,
                         path,
                         {{.universe = record.universe,
                           .box_size = box,
                           .redshift = redshift,
                           .particles = facts[i].particles,
                           .line_of_sight = facts[i].line_of_sight},
                          grid},
                         facts[i].float_bytes,
                         facts[i].watched};
      suite.files.insert(suite.files.end(), facts[i].files.begin(), facts[i].files.end());
      content.push_back({facts[i].particles, facts[i].units_per_mpc_h, facts[i].files.size()});
    }
    suite.manifest.simulations.push_back(std::move(record));
  }
  content.push_back(suite.manifest.details());
  suite.sha256 = core::sha256(content.dump());
  suite.manifest.facts = facts_of(suite, unstated);
  return suite;
}

void count_suite(const core::Communicator& comm, const core::Log& log, core::OutputDirectory& output,
                 const SnapshotSuite& suite, const GadgetReading& reading) {
  std::vector<const PlannedCounts*> missing;
  for (const PlannedCounts& counts : suite.counts) {
    if (output.find(counts.path) == nullptr) missing.push_back(&counts);
  }
  const core::Communicator self = comm.split(comm.rank());
  core::Progress progress(log, "snapshots counted", static_cast<std::int64_t>(missing.size()));
  std::vector<core::FileRecord> finished;
  std::vector<std::string> remarks;
  core::in_rounds(
      comm, missing.size(),
      [&](std::size_t i) {
        const WeighedSnapshot weighed = open_snapshot(self, missing[i]->snapshot, reading);
        CountingResult result =
            count_snapshot(self, output, missing[i]->path, weighed, missing[i]->header, [](std::int64_t) {});
        missing[i]->watched.ensure_unchanged();
        finished = std::move(result.records);
        for (const std::string& remark : remarks_on(result, weighed.snapshot))
          remarks.push_back(fmt::format("{}: {}", missing[i]->snapshot.string(), remark));
      },
      [&](std::size_t items) {
        output.record(finished);
        finished.clear();
        progress.advance(static_cast<std::int64_t>(items));
      });
  std::vector<std::string> all;
  for (const std::string& text : comm.gather(Json(remarks).dump())) {
    for (const Json& remark : Json::parse(text)) all.push_back(remark);
  }
  warn_of(log, all);
}

}  // namespace cosmo::histogram
