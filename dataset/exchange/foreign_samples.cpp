#include "dataset/exchange/foreign_samples.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <utility>

#include "core/error.hpp"
#include "core/file/checksum.hpp"
#include "core/random.hpp"
#include "dataset/exchange/foreign_scan.hpp"
#include "dataset/exchange/imported_shards.hpp"
#include "dataset/exchange/target_pairs.hpp"
#include "dataset/shard/target_scaler.hpp"

namespace cosmo::dataset {

using core::ensure;
using core::Fault;

namespace {

/// Physical parameters of a row whose file has labels in [−1, 1].
std::vector<double> to_physical(const std::vector<double>& labels, const core::ParameterSpace& space,
                                const std::string& file) {
  constexpr double kRounding = 1e-6;
  std::vector<float> unit;
  for (std::size_t p = 0; p < labels.size(); ++p) {
    ensure(space.low[p] < space.high[p], Fault::config,
           "The labels of {} lie in [-1, 1], so their ranges are needed: give --parameters NAME=LOW:HIGH,….",
           file);
    ensure(std::abs(labels[p]) <= 1 + kRounding, Fault::format,
           "{} has the label {} outside [-1, 1]: give the --dialect that it is in.", file, labels[p]);
    unit.push_back(static_cast<float>(std::clamp(labels[p], -1.0, 1.0)));
  }
  std::vector<double> physical(labels.size());
  TargetScaler(space).to_physical(unit, physical);
  return physical;
}

/// Parameters of every row, in the order of the space, from the table or else from the files.
std::vector<std::vector<double>> parameters_of(const SampleTable& table, const Scans& found,
                                               const core::ParameterSpace& space,
                                               const ExchangeFormat& format) {
  std::vector<std::size_t> columns;
  for (const std::string& name : space.names) {
    const auto column = std::ranges::find(table.parameters, name);
    if (column != table.parameters.end())
      columns.push_back(static_cast<std::size_t>(column - table.parameters.begin()));
  }
  const bool in_table = columns.size() == space.size();
  ensure(in_table || (columns.empty() && format.has_labels), Fault::config,
         "The table needs a column for each of {}: add those that are missing.",
         fmt::join(space.names, ", "));
  std::vector<std::vector<double>> parameters;
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    const std::string& file = table.rows[r].file;
    if (in_table) {
      std::vector<double>& values = parameters.emplace_back();
      for (const std::size_t column : columns) values.push_back(table.rows[r].parameters[column]);
    } else {
      ensure(found.labels[r].size() == space.size(), Fault::config,
             "{} has {} labels and --parameters names {}: name them all.", file, found.labels[r].size(),
             space.size());
      parameters.push_back(format.unit_labels ? to_physical(found.labels[r], space, file) : found.labels[r]);
    }
  }
  return parameters;
}

/// The parameters that are not the same in all rows.
std::vector<std::string> varying(const SampleTable& table) {
  std::vector<std::string> names;
  for (std::size_t p = 0; p < table.parameters.size(); ++p) {
    const auto differs = [&](const SampleRow& row) {
      return row.parameters[p] != table.rows.front().parameters[p];
    };
    if (std::ranges::any_of(table.rows, differs)) names.push_back(table.parameters[p]);
  }
  return names;
}

/// Fills in the ranges that were not stated, and checks the others.
void complete_ranges(core::ParameterSpace& space, const std::vector<std::vector<double>>& parameters) {
  for (std::size_t p = 0; p < space.size(); ++p) {
    const auto [low, high] = std::ranges::minmax(
        parameters, {}, [p](const std::vector<double>& of_sample) { return of_sample[p]; });
    if (!(space.low[p] < space.high[p])) std::tie(space.low[p], space.high[p]) = std::pair(low[p], high[p]);
    ensure(space.low[p] < space.high[p], Fault::config,
           "{} is {} in every sample, so there is nothing to learn: leave it out by --parameters.",
           space.names[p], low[p]);
    ensure(space.low[p] <= low[p] && high[p] <= space.high[p], Fault::config,
           "{} is from {} to {} in the samples, beyond {}:{}: state its range in --parameters.",
           space.names[p], low[p], high[p], space.low[p], space.high[p]);
  }
}

/// What the samples of one universe have in common, and their rows.
struct SampledUniverse {
  std::uint64_t seed = 0;
  std::optional<Split> split;
  std::map<std::uint8_t, std::size_t> rows;  ///< by sub-volume
};
using SampledUniverses = std::map<std::uint32_t, SampledUniverse>;  // by simulation

/// They are checked: each simulation has one seed, split and set of parameters, and all have the
/// same number of samples.
SampledUniverses universes_of(const SampleTable& table, const std::vector<std::vector<double>>& parameters) {
  SampledUniverses universes;
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    const SampleRow& row = table.rows[r];
    const std::uint64_t seed = row.seed.value_or(row.simulation);
    SampledUniverse& universe =
        universes.try_emplace(row.simulation, SampledUniverse{seed, row.split, {}}).first->second;
    const std::size_t number = row.subvolume.value_or(static_cast<std::uint8_t>(universe.rows.size() % 256));
    const bool fits = universe.rows.emplace(static_cast<std::uint8_t>(number), r).second;
    ensure(fits, Fault::format,
           "{} and another sample are sub-volume {} of simulation {}: give each its own number below 256.",
           row.file, number, row.simulation);
    const std::size_t first = universe.rows.begin()->second;
    ensure(
        universe.seed == seed && universe.split == row.split && parameters[first] == parameters[r],
        Fault::format,
        "{} and {} are from simulation {} but not of the same seed, split and parameters: correct the table.",
        table.rows[first].file, row.file, row.simulation);
  }
  const std::size_t samples = universes.begin()->second.rows.size();
  for (const auto& [simulation, universe] : universes) {
    ensure(universe.rows.size() == samples, Fault::format,
           "Simulation {} has {} samples and simulation {} has {}: give the same number of each.",
           universes.begin()->first, samples, simulation, universe.rows.size());
  }
  return universes;
}

/// The simulations of each split, from the table or drawn.
std::array<std::vector<std::uint32_t>, 3> split_of(const SampledUniverses& universes,
                                                   const ForeignSettings& settings) {
  std::array<std::vector<std::uint32_t>, 3> splits;
  if (universes.begin()->second.split) {
    for (const auto& [simulation, universe] : universes) {
      splits[static_cast<std::size_t>(*universe.split)].push_back(simulation);
    }
    for (std::size_t s = 0; s < splits.size(); ++s) {
      ensure(!splits[s].empty(), Fault::format,
             "The table has no {} samples: assign some, or leave out the column 'split' to have them drawn.",
             kSplitNames[s]);
    }
    return splits;
  }
  std::vector<std::uint32_t> simulations;
  for (const auto& [simulation, universe] : universes) simulations.push_back(simulation);
  const auto tenth = static_cast<std::uint32_t>(std::max<std::size_t>(1, simulations.size() / 10));
  const SuiteSplit drawn =
      split_suite(without_twins(simulations.size()), settings.validation > 0 ? settings.validation : tenth,
                  settings.test > 0 ? settings.test : tenth, settings.seed);
  for (std::size_t s = 0; s < splits.size(); ++s) {
    for (const std::uint32_t position : drawn[s]) splits[s].push_back(simulations[position]);
  }
  return splits;
}

/// Rows of a split in the order of its shards: training samples at random, others by simulation.
std::vector<std::size_t> rows_of(Split split, const std::vector<std::uint32_t>& simulations,
                                 const SampledUniverses& universes, std::uint64_t seed) {
  std::vector<std::size_t> rows;
  for (const std::uint32_t simulation : simulations) {
    for (const auto& [subvolume, row] : universes.at(simulation).rows) rows.push_back(row);
  }
  if (split != Split::train) return rows;
  const core::RandomStream stream(seed, core::Purpose::shard_assignment);
  std::vector<std::size_t> dealt;
  for (const std::uint32_t i : core::shuffled(stream, static_cast<std::uint32_t>(rows.size()))) {
    dealt.push_back(rows[i]);
  }
  return dealt;
}

/// Everything that determines the dataset, except the samples themselves.
core::Json config_of(const ForeignSettings& settings, const ExchangeFormat& format,
                     const core::ParameterSpace& space, bool drawn) {
  core::Json config = {{"import", format.dialect.empty() ? format.name : format.dialect},
                       {"parameters", space},
                       {"redshifts", settings.redshifts},
                       {"voxels", settings.kind == VoxelKind::counts ? "counts" : "field"},
                       {"samples_per_shard", settings.samples_per_shard},
                       {"compress", name_of(settings.compression)},
                       {"seed", settings.seed}};
  core::write_length(config, "box", settings.box_size);
  if (!settings.line_of_sight.empty()) config[core::kLineOfSightKey] = settings.line_of_sight;
  if (drawn) config.update({{"validation", settings.validation}, {"test", settings.test}});
  return config;
}

/// The samples as an input, which is identified by their content, not by their files.
core::InputRecord input_of(const ForeignSettings& settings, const SampleTable& table, const Scans& found,
                           const SampledUniverses& universes, const std::filesystem::path& target) {
  core::Json content = core::Json::array();
  for (const auto& [simulation, universe] : universes) {
    for (const auto& [subvolume, row] : universe.rows) {
      const Scan& scan = found.scans[row];
      content.push_back({simulation, subvolume, universe.seed,
                         std::string(scan.sha256.begin(), scan.sha256.end()), table.rows[row].parameters,
                         found.labels[row], universe.split ? std::string(name_of(*universe.split)) : ""});
      if (!table.target.empty())
        content.back().push_back(std::string(scan.target_sha256.begin(), scan.target_sha256.end()));
    }
  }
  return {(core::seen_from(target, settings.directory) / "").lexically_normal().string(),
          "sha256:" + core::sha256(content.dump()), core::sha256_of_file(settings.table)};
}

/// Sums over all samples, in the order of the table.
void add_statistics(DatasetManifest& manifest, const SampleTable& table, const Scans& found,
                    const std::set<std::size_t>& training) {
  CountSums sums;
  for (std::size_t r = 0; r < found.scans.size(); ++r) {
    sums.add(found.scans[r].voxels.counts);
    if (!training.contains(r)) continue;
    manifest.field.add(found.scans[r].voxels.field);
    manifest.target.add(found.scans[r].voxels.target);
  }
  if (manifest.spec.input.kind == VoxelKind::field) {
    manifest.channels = channels_of(table, found, training);
    return;
  }
  const double voxels =
      static_cast<double>(found.scans.size()) * static_cast<double>(manifest.spec.input.voxels());
  manifest.spec.mean_count = static_cast<double>(sums.particles) / voxels;
  manifest.statistics = {sums.max_count, sums.particles, sums.particles};
  ensure(sums.particles > 0, Fault::format, "There is no particle in any sample: import other files.");
}

SampleSpec spec_of(const ForeignSettings& settings, const SampleTable& table, const Scans& found,
                   const core::ParameterSpace& space) {
  const int side = found.scans.front().side, channels = static_cast<int>(settings.redshifts.size());
  for (const Scan& scan : found.scans) {
    ensure(scan.side == side, Fault::format,
           "{} has {} voxels per side and {} has {}: import cubes of one size.", table.rows.front().file,
           side, table.rows[scan.row].file, scan.side);
  }
  SampleSpec spec;
  spec.parameters = space;
  spec.input.shape = {side, side, side};
  if (channels > 1) spec.input.shape.insert(spec.input.shape.begin(), channels);
  spec.box_size = settings.box_size;
  spec.input.redshifts = settings.redshifts;
  spec.line_of_sight = settings.line_of_sight;
  spec.input.kind = settings.kind;
  if (table.target.empty()) return spec;
  const double redshift = table.target_kind == VoxelKind::classes ? settings.redshifts.front() : 0;
  spec.target = {table.target_kind, {side, side, side}, {redshift}, table.target};
  return spec;
}

/// Everything that is known about the samples.
struct Sources {
  const ForeignSettings& settings;
  const SampleTable& table;
  const Scans& found;
  const std::vector<std::vector<double>>& parameters;
  const SampledUniverses& universes;
};

/// Throws Error{format} if two lines of the table have the same voxels, which splits might then share.
void refuse_duplicates(const ForeignSettings& settings, const SampleTable& table, const Scans& found) {
  std::map<std::string_view, std::size_t> row_of;
  const auto name = [&](std::size_t row) { return name_of(table.rows[row]); };
  for (const Scan& scan : found.scans) {
    const auto [twin, fresh] =
        row_of.emplace(std::string_view(scan.sha256.data(), scan.sha256.size()), scan.row);
    ensure(fresh, Fault::format, "{}: {} and {} hold the same voxels: list each sample once.",
           settings.table.string(), name(twin->second), name(scan.row));
  }
}

/// Warns of counts that are all 0, which a file that was never written has.
void warn_of_empty(const core::Log& log, const ForeignSettings& settings, const SampleTable& table,
                   const Scans& found) {
  if (settings.kind != VoxelKind::counts) return;
  const auto empty = [](const Scan& scan) { return scan.voxels.counts.particles == 0; };
  const auto first = std::ranges::find_if(found.scans, empty);
  if (first != found.scans.end())
    log.warn("{}: {} of {} samples hold no particle, the first is {}.", settings.table.string(),
             std::ranges::count_if(found.scans, empty), found.scans.size(), name_of(table.rows[first->row]));
}

/// Distributes the samples of a split over its shards.
void add_shards(ForeignPlan& plan, Split split, const std::vector<std::uint32_t>& simulations,
                const Sources& sources) {
  const auto rows = rows_of(split, simulations, sources.universes, sources.settings.seed);
  SplitRecord& record = plan.manifest.splits[static_cast<std::size_t>(split)];
  record.simulations = simulations;
  record.samples = rows.size();
  for (const std::uint32_t simulation : simulations)
    record.seeds.push_back(sources.universes.at(simulation).seed);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i % sources.settings.samples_per_shard == 0) {
      record.shards.push_back(shard_path(split, record.shards.size()));
      plan.shards.push_back({record.shards.back(), {}, {}});
    }
    const SampleRow& row = sources.table.rows[rows[i]];
    const SampledUniverse& universe = sources.universes.at(row.simulation);
    const auto place =
        std::ranges::find_if(universe.rows, [&](const auto& numbered) { return numbered.second == rows[i]; });
    plan.shards.back().samples.push_back(
        {row.simulation, place->first, universe.seed, sources.parameters[rows[i]]});
    const Scan& scan = sources.found.scans[rows[i]];
    plan.shards.back().voxels.push_back({file_of(sources.settings, row), scan.crc32,
                                         target_of(sources.settings, sources.table.target_kind, row),
                                         scan.target_crc32});
  }
}

std::set<std::size_t> training_rows(const std::array<std::vector<std::uint32_t>, 3>& splits,
                                    const SampledUniverses& universes) {
  std::set<std::size_t> rows;
  for (const std::uint32_t simulation : splits[static_cast<std::size_t>(Split::train)]) {
    for (const auto& [subvolume, row] : universes.at(simulation).rows) rows.insert(row);
  }
  return rows;
}

}  // namespace

ForeignPlan plan_foreign(const core::Communicator& comm, const core::Log& log,
                         const ForeignSettings& settings, const ExchangeFormat& format,
                         const std::filesystem::path& target) {
  SampleTable table;
  core::FileState before;
  core::ParameterSpace space = settings.parameters;
  comm.agree([&] {
    before = core::state_of(settings.table);
    table = read_sample_table(settings.table);
    if (space.size() == 0) {
      space.names = table.target.empty() ? table.parameters : varying(table);
      space.low = space.high = std::vector<double>(space.names.size());
    }
    ensure(table.target.empty() || format.name == "npy", Fault::config,
           "{} has a column target_{}, and --format {} has no place for fields: give --format npy.",
           settings.table.string(), table.target, format.name);
    ensure(space.size() > 0 || !table.target.empty(), Fault::config,
           "{} names no parameter: add columns of them, or name the labels in the files by --parameters.",
           settings.table.string());
  });
  if (!table.passed_over.empty())
    log.info("{}: columns that are not read: {}", settings.table.string(),
             fmt::join(table.passed_over, ", "));
  const Scans found = scan_all(comm, log, settings, format, table);
  ForeignPlan plan;
  comm.agree([&] {
    refuse_duplicates(settings, table, found);
    warn_of_empty(log, settings, table, found);
    if (!table.target.empty()) ensure_pairs(log, settings, table, found);
    const auto parameters = parameters_of(table, found, space, format);
    complete_ranges(space, parameters);
    const auto universes = universes_of(table, parameters);
    const auto splits = split_of(universes, settings);
    const bool drawn = !universes.begin()->second.split.has_value();
    plan.manifest.origin = {false, static_cast<std::uint64_t>(settings.samples_per_shard),
                            settings.compression};
    plan.request = {"shard",
                    config_of(settings, format, space, drawn),
                    {input_of(settings, table, found, universes, target)}};
    core::ensure_unchanged(settings.table, before);
    plan.manifest.spec = spec_of(settings, table, found, space);
    plan.manifest.spec.input_id = plan.request.inputs.front().id;
    plan.manifest.seeds_assumed =
        std::ranges::any_of(table.rows, [](const SampleRow& row) { return !row.seed.has_value(); });
    plan.manifest.subvolumes = static_cast<std::uint32_t>(universes.begin()->second.rows.size());
    const Sources sources{settings, table, found, parameters, universes};
    for (const Split split : {Split::train, Split::validation, Split::test}) {
      add_shards(plan, split, splits[static_cast<std::size_t>(split)], sources);
    }
    const auto leak = plan.manifest.leak();
    refuse_leak(leak, settings.table.string(), settings.allow_leak);
    if (leak) plan.request.config["allow_leak"] = true;
    add_statistics(plan.manifest, table, found, training_rows(splits, universes));
  });
  return plan;
}

void import_foreign(const core::Communicator& comm, const core::Log& log, core::OutputDirectory& output,
                    const ForeignPlan& plan, const ExchangeFormat& format) {
  std::vector<ImportedShard> shards;
  for (const ForeignShard& shard : plan.shards) {
    const auto read = [&format](const ForeignFile& file, std::uint32_t crc32) {
      ForeignSample sample = format.decode(file);
      ensure(core::crc32(sample.voxels) == crc32, Fault::format,
             "{} has changed since it was first read: run the import again.", file.path.string());
      return std::move(sample.voxels);
    };
    shards.push_back(
        {shard.path, shard.samples,
         [&shard, read](std::size_t row) { return read(shard.voxels[row].file, shard.voxels[row].crc32); },
         [&shard, read](std::size_t row) {
           return read(shard.voxels[row].target, shard.voxels[row].target_crc32);
         }});
  }
  write_imported(comm, log, output, plan.manifest.spec, plan.manifest.origin.compression, shards);
}

}  // namespace cosmo::dataset
