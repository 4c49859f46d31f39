#include "dataset/make/shard_suite.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <mutex>
#include <set>

#include "core/error.hpp"
#include "core/parallel/parallel.hpp"
#include "core/parallel/rounds.hpp"
#include "dataset/make/shard_publisher.hpp"
#include "dataset/shard/shard_reader.hpp"
#include "dataset/shard/shard_writer.hpp"
#include "histogram/coarse_counts.hpp"
#include "histogram/count_file.hpp"
#include "histogram/subvolumes.hpp"

namespace cosmo::dataset {

using core::Communicator;
using core::ensure;
using core::Fault;
using core::SimulationRecord;
using histogram::CountFile;
using histogram::CountFileHeader;

namespace {

/// Throws Error{format} naming the file unless it agrees with the suite's manifest.
void check_header(const CountFileHeader& header, const SimulationRecord& record, double redshift,
                  const Suite& suite, std::uint64_t particles) {
  const auto agrees = [&](bool equal, std::string_view what) {
    ensure(equal, Fault::format,
           "{} has another {} than the suite's manifest: run cosmo-sim again with --force.",
           (suite.directory / record.counts(redshift)).string(), what);
  };
  agrees(header.cells_per_side == suite.manifest.grid, "grid");
  agrees(header.box_size == suite.manifest.box_size.mpc_h(record.universe.cosmology.h), "box");
  agrees(header.universe.seed == record.universe.seed, "seed");
  agrees(header.redshift == redshift, "redshift");
  agrees(header.line_of_sight == suite.manifest.line_of_sight, "line of sight");
  agrees(header.particles == particles, "number of particles");
  for (const auto& row : core::kCosmologyParameters) {
    agrees(header.universe.cosmology.*row.member == record.universe.cosmology.*row.member, row.name);
  }
}

Sample describe(const SimulationRecord& record, const PlannedSample& planned, const std::array<int, 3>& roll,
                const SampleSpec& spec) {
  Sample sample{record.index, planned.subvolume, record.universe.seed, {}, planned.roll, {}};
  std::copy(roll.begin(), roll.end(), sample.shift.begin());
  for (const SettingColumn& column : spec.settings)
    sample.settings.push_back(column.value_of(record.settings.at(column.name)));
  for (const std::string& name : spec.parameters.names) {
    const auto* row = core::find_cosmology_parameter(name);
    ensure(row != nullptr, Fault::format,
           "The suite varies {}, which is not a known parameter: run cosmo-sim again.", name);
    sample.parameters.push_back(record.universe.cosmology.*row->member);
  }
  return sample;
}

void write_shard(const std::filesystem::path& path, const PlannedShard& shard, const Suite& suite,
                 const SampleSpec& spec, const ShardSettings& settings) {
  const histogram::Subvolumes subvolumes(settings.grid, settings.subvolumes);
  ShardWriter writer(path, spec, shard.samples.size(), settings.compression);
  std::vector<std::uint16_t> counts(spec.voxels());
  for (const PlannedSample& planned : shard.samples) {
    const SimulationRecord& record = suite.manifest.simulations[planned.simulation];
    const std::array<int, 3> roll = roll_of(settings.seed, record.index, planned.roll, settings.grid);
    std::array<int, 3> origin = subvolumes.origin(planned.subvolume);
    for (std::size_t axis = 0; axis < 3; ++axis) origin[axis] = (origin[axis] + roll[axis]) % settings.grid;
    std::span<std::uint16_t> left = counts;
    for (const double redshift : settings.redshifts) {
      const std::size_t channel = counts.size() / settings.redshifts.size();
      histogram::read_coarse(CountFile(suite.directory / record.counts(redshift)),
                             suite.manifest.grid / settings.grid, origin, subvolumes.cells(),
                             left.first(channel));
      left = left.subspan(channel);
    }
    writer.append(describe(record, planned, roll, spec), counts);
  }
  std::move(writer).finish();
}

/// The settings of each universe that are not those of all.
std::vector<core::Facts> settings_of(const core::SimulationManifest& suite) {
  std::vector<core::Facts> all;
  for (const SimulationRecord& record : suite.simulations) all.push_back(record.settings);
  return all;
}

/// What the samples have in common; particle counts are the first simulation's and checked on all others.
SampleSpec common_spec(const Suite& suite, const ShardPlan& plan, const ShardSettings& settings,
                       std::uint64_t particles) {
  return {.parameters = parameters_of(suite.manifest, settings),
          .shape = plan.shape,
          .box_size = suite.manifest.box_size / settings.subvolumes,
          .redshifts = settings.redshifts,
          .mean_count = static_cast<double>(particles) / std::pow(settings.grid, 3),
          .input_id = suite.manifest.base.request.id(),
          .rolls = settings.rolls,
          .line_of_sight = suite.manifest.line_of_sight,
          .settings = columns_of(settings_of(suite.manifest))};
}

/// Throws Error{format} naming the first of the suite's files that does not hold the particles it states.
void check_sums(const Communicator& comm, const Suite& suite, const std::vector<double>& redshifts) {
  core::in_rounds(
      comm, suite.manifest.simulations.size(),
      [&](std::size_t i) {
        for (const double redshift : redshifts)
          CountFile(suite.directory / suite.manifest.simulations[i].counts(redshift)).check_sum();
      },
      [](std::size_t) {});
}

/// Sums the statistics that the shards record, old and new alike.
CountStatistics collect(const Communicator& comm, const core::OutputDirectory& output, const ShardPlan& plan,
                        const SampleSpec& spec, std::uint64_t particles_in) {
  CountStatistics total{0, particles_in, 0};
  core::in_rounds(
      comm, plan.shards.size(),
      [&](std::size_t s) {
        const CountSums shard = ShardReader(output.path() / plan.shards[s].path, spec).statistics().counts;
        total.max_count = std::max(total.max_count, shard.max_count);
        total.particles_binned += shard.particles;
      },
      [](std::size_t) {});
  total.max_count = comm.max(total.max_count);
  total.particles_binned = comm.sum(total.particles_binned);
  return total;
}

DatasetManifest to_manifest(const Suite& suite, const ShardPlan& plan, const ShardSettings& settings,
                            SampleSpec spec, const CountStatistics& statistics) {
  DatasetManifest manifest;
  manifest.origin = {true, static_cast<std::uint64_t>(settings.samples_per_shard), settings.compression};
  manifest.spec = std::move(spec);
  manifest.statistics = statistics;
  manifest.subvolumes = static_cast<std::uint32_t>(plan.subvolumes);
  manifest.facts = suite.manifest.facts;
  const auto [first, last] = std::ranges::minmax(settings.redshifts);
  if (!manifest.facts.empty()) manifest.facts.insert_or_assign("redshift", core::Fact(first, last));
  for (std::size_t s = 0; s < plan.split.size(); ++s) {
    for (const std::uint32_t position : plan.split[s]) {
      manifest.splits[s].simulations.push_back(suite.manifest.simulations[position].index);
      manifest.splits[s].seeds.push_back(suite.manifest.simulations[position].universe.seed);
    }
  }
  for (const PlannedShard& shard : plan.shards) {
    SplitRecord& record = manifest.splits[static_cast<std::size_t>(shard.split)];
    record.samples += shard.samples.size();
    record.shards.push_back(shard.path);
  }
  return manifest;
}

/// Particles of the suite's first simulation, on every rank.
std::uint64_t particles_of_first(const Communicator& comm, const Suite& suite, double redshift) {
  std::uint64_t particles = 0;
  comm.agree([&] {
    if (!comm.is_root()) return;
    const std::string& path = suite.manifest.simulations.front().counts(redshift);
    core::check_content(suite.directory, *suite.manifest.base.find(path));
    particles = CountFile(suite.directory / path).header().particles;
  });
  comm.broadcast(std::span(&particles, 1));
  return particles;
}

/// Compares the counts of all simulations that shards need with the suite's manifest, one file per thread.
void check_inputs(const Communicator& comm, const core::Log& log, const std::vector<PlannedShard>& shards,
                  const Suite& suite, const std::vector<double>& redshifts, std::uint64_t particles) {
  std::set<std::uint32_t> needed;
  for (const PlannedShard& shard : shards) {
    for (const PlannedSample& sample : shard.samples) needed.insert(sample.simulation);
  }
  const std::vector<std::uint32_t> positions(needed.begin(), needed.end());
  std::mutex hdf5;
  const auto check = [&](const SimulationRecord& record, double redshift) {
    const std::string& path = record.counts(redshift);
    core::check_content(suite.directory, *suite.manifest.base.find(path));
    const std::lock_guard lock(hdf5);
    check_header(CountFile(suite.directory / path).header(), record, redshift, suite, particles);
  };
  const auto batch = static_cast<std::size_t>(core::thread_count());
  std::size_t left = positions.size();
  core::Progress progress(log, "simulations checked", static_cast<std::int64_t>(positions.size()));
  core::in_rounds(
      comm, (positions.size() + batch - 1) / batch,
      [&](std::size_t b) {
        const auto mine = std::span(positions).subspan(b * batch);
        core::in_threads(std::min(batch, mine.size()), [&](std::size_t i, std::size_t) {
          for (const double redshift : redshifts) check(suite.manifest.simulations[mine[i]], redshift);
        });
      },
      [&](std::size_t batches) {
        const std::size_t checked = std::min(left, batches * batch);
        left -= checked;
        progress.advance(static_cast<std::int64_t>(checked));
      });
}

}  // namespace

DatasetManifest shard_suite(const Communicator& comm, const core::Log& log, core::OutputDirectory& output,
                            const Suite& suite, const ShardPlan& plan, const ShardSettings& settings) {
  std::vector<PlannedShard> missing;
  std::copy_if(plan.shards.begin(), plan.shards.end(), std::back_inserter(missing),
               [&](const PlannedShard& shard) { return output.find(shard.path) == nullptr; });
  const std::uint64_t particles = particles_of_first(comm, suite, settings.redshifts.front());
  const SampleSpec spec = common_spec(suite, plan, settings, particles);
  check_inputs(comm, log, missing, suite, settings.redshifts, particles);
  core::Progress progress(log, "shards", static_cast<std::int64_t>(missing.size()));
  std::vector<std::string> paths;
  for (const PlannedShard& shard : missing) paths.push_back(shard.path);
  publish_shards(comm, progress, output, paths, [&](std::size_t s, const std::filesystem::path& part) {
    write_shard(part, missing[s], suite, spec, settings);
  });
  const std::uint64_t boxes =
      plan.samples() / static_cast<std::uint64_t>(plan.subvolumes) * settings.redshifts.size();
  const std::uint64_t particles_in = particles * boxes;
  const CountStatistics statistics = collect(comm, output, plan, spec, particles_in);
  if (statistics.particles_binned != particles_in) check_sums(comm, suite, settings.redshifts);
  comm.agree([&] {
    ensure(statistics.particles_binned == particles_in, Fault::internal,
           "{} of {} particles are in the shards.", statistics.particles_binned, particles_in);
  });
  return to_manifest(suite, plan, settings, spec, statistics);
}

}  // namespace cosmo::dataset
