#include "dataset/make/shard_suite.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <set>
#include <utility>

#include "core/error.hpp"
#include "core/parallel/gather_values.hpp"
#include "core/parallel/rounds.hpp"
#include "dataset/make/shard_publisher.hpp"
#include "dataset/shard/shard_reader.hpp"
#include "dataset/shard/shard_writer.hpp"
#include "histogram/subvolumes.hpp"

namespace cosmo::dataset {

using core::Communicator;
using core::ensure;
using core::Fault;

namespace {

Sample describe(const JoinedSources& sources, const PlannedSample& planned, const std::array<int, 3>& roll,
                const SampleSpec& spec) {
  const SourceUniverse& universe = sources.at(planned.simulation);
  Sample sample{
      sources.universes()[planned.simulation].number, planned.subvolume, universe.seed, {}, planned.roll, {}};
  std::copy(roll.begin(), roll.end(), sample.shift.begin());
  sample.settings = sources.settings(planned.simulation, spec.settings);
  for (const std::string& name : spec.parameters.names) {
    const auto value = universe.parameters.find(name);
    ensure(value != universe.parameters.end(), Fault::format,
           "The suite varies {}, which is not a known parameter: run cosmo-sim again.", name);
    sample.parameters.push_back(value->second);
  }
  return sample;
}

void write_shard(const std::filesystem::path& path, const PlannedShard& shard, const JoinedSources& sources,
                 const SampleSpec& spec, const ShardSettings& settings) {
  const histogram::Subvolumes subvolumes(settings.grid, settings.subvolumes);
  ShardWriter writer(path, spec, shard.samples.size(), settings.compression);
  std::vector<std::uint16_t> counts(spec.input.voxels());
  std::vector<float> target(spec.target ? spec.target->voxels() : 0),
      velocity(spec.velocity ? spec.velocity->voxels() : 0);
  for (const PlannedSample& planned : shard.samples) {
    const JoinedUniverse& universe = sources.universes()[planned.simulation];
    const std::array<int, 3> roll = roll_of(settings.seed, universe.number, planned.roll, settings.grid);
    std::array<int, 3> origin = subvolumes.origin(planned.subvolume);
    for (std::size_t axis = 0; axis < 3; ++axis) origin[axis] = (origin[axis] + roll[axis]) % settings.grid;
    const SourceCut cut{planned.subvolume, origin, subvolumes.cells(), settings.grid};
    UniverseSource& source = sources.source(universe.source);
    source.read(universe.universe, cut, settings.redshifts, counts);
    if (spec.target) source.read_target(universe.universe, cut, settings.content(), target);
    if (spec.velocity)
      source.read_velocity(universe.universe, cut, settings.redshifts.front(), counts, velocity);
    writer.append(describe(sources, planned, roll, spec), counts, {target, velocity});
  }
  std::move(writer).finish();
}

/// Particles in the box of the first universe, on every rank.
double particles_of_first(const Communicator& comm, const JoinedSources& sources, double redshift) {
  double particles = 0;
  comm.agree([&] {
    if (comm.is_root()) particles = sources.source(0).particles(redshift);
  });
  comm.broadcast(std::span(&particles, 1));
  return particles;
}

/// What the samples have in common; particle counts are the first simulation's and checked on all others.
SampleSpec common_spec(const JoinedSources& sources, const ShardPlan& plan, const ShardSettings& settings,
                       double particles) {
  const core::ParameterSpace parameters = parameters_of(sources, settings);
  return {.parameters = parameters,
          .input = {VoxelKind::counts, plan.shape, settings.redshifts},
          .box_size = sources.first().box / settings.subvolumes,
          .mean_count = particles / std::pow(settings.grid, 3),
          .input_id = sources.input_id(),
          .rolls = settings.rolls,
          .line_of_sight = sources.first().line_of_sight,
          .settings = sources.columns(parameters.names),
          .target = plan.target,
          .velocity = plan.velocity};
}

/// Compares the counts of all universes that shards need with the manifests of their sources. Collective.
void check_inputs(const Communicator& comm, const core::Log& log, const std::vector<PlannedShard>& shards,
                  const JoinedSources& sources, const SourceContent& content, double particles) {
  std::vector<std::set<std::size_t>> needed(sources.size());
  for (const PlannedShard& shard : shards) {
    for (const PlannedSample& sample : shard.samples) {
      const JoinedUniverse& universe = sources.universes()[sample.simulation];
      needed[universe.source].insert(universe.universe);
    }
  }
  for (std::size_t s = 0; s < needed.size(); ++s) {
    const std::vector<std::size_t> universes(needed[s].begin(), needed[s].end());
    sources.source(s).check(comm, log, universes, content, particles);
  }
}

/// Throws Error{format} naming the first file that does not hold the particles it states.
void check_sums(const Communicator& comm, const JoinedSources& sources,
                const std::vector<double>& redshifts) {
  core::in_rounds(
      comm, sources.universes().size(),
      [&](std::size_t i) {
        const JoinedUniverse& universe = sources.universes()[i];
        sources.source(universe.source).check_sum(universe.universe, redshifts);
      },
      [](std::size_t) {});
}

/// Particles in the boxes that are cut, if the sources state them; a dataset states those of its samples alone, with a
/// checksum each.
std::optional<std::uint64_t> particles_in(const JoinedSources& sources, const ShardPlan& plan,
                                          const ShardSettings& settings, double particles) {
  for (std::size_t s = 0; s < sources.size(); ++s) {
    if (sources.source(s).common().cuts > 0) return std::nullopt;
  }
  const std::uint64_t boxes =
      plan.samples() / static_cast<std::uint64_t>(plan.subvolumes) * settings.redshifts.size();
  return static_cast<std::uint64_t>(particles) * boxes;
}

/// Statistics over all shards, and of the fields beside training samples.
struct Collected {
  CountStatistics counts;
  FieldStatistics target = {}, velocity = {};
};

/// Adds up the statistics that the shards record, old and new alike.
Collected collect(const Communicator& comm, const core::OutputDirectory& output, const ShardPlan& plan,
                  const SampleSpec& spec, std::optional<std::uint64_t> particles_in) {
  CountStatistics total{0, 0, 0};
  struct OfShard {
    std::size_t number;
    FieldStatistics target, velocity;
  };
  std::vector<OfShard> fields;
  core::in_rounds(
      comm, plan.shards.size(),
      [&](std::size_t s) {
        const ShardReader reader(output.path() / plan.shards[s].path, spec);
        const CountSums shard = reader.statistics().counts;
        total.max_count = std::max(total.max_count, shard.max_count);
        total.particles_binned += shard.particles;
        if (plan.shards[s].split == Split::train)
          fields.push_back({s, reader.statistics().target, reader.statistics().velocity});
      },
      [](std::size_t) {});
  total.max_count = comm.max(total.max_count);
  total.particles_binned = comm.sum(total.particles_binned);
  total.particles_in = particles_in.value_or(total.particles_binned);
  fields = core::gather_values(comm, fields);
  std::ranges::sort(fields, {}, &OfShard::number);  // sums are the same on any number of ranks
  Collected collected{total};
  for (const OfShard& shard : fields) {
    collected.target.add(shard.target);
    collected.velocity.add(shard.velocity);
  }
  return collected;
}

DatasetManifest to_manifest(const JoinedSources& sources, const ShardPlan& plan,
                            const ShardSettings& settings, SampleSpec spec, const Collected& statistics) {
  DatasetManifest manifest;
  manifest.origin = {true, static_cast<std::uint64_t>(settings.samples_per_shard), settings.compression};
  manifest.spec = std::move(spec);
  manifest.statistics = statistics.counts;
  manifest.target = statistics.target;
  manifest.velocity = statistics.velocity;
  manifest.subvolumes = static_cast<std::uint32_t>(plan.subvolumes);
  manifest.facts = sources.facts();
  manifest.joined = sources.record();
  for (std::size_t s = 0; s < sources.size(); ++s)
    manifest.seeds_assumed = manifest.seeds_assumed || sources.source(s).common().seeds_assumed;
  const auto [first, last] = std::ranges::minmax(settings.redshifts);
  if (!manifest.facts.empty()) manifest.facts.insert_or_assign("redshift", core::Fact(first, last));
  for (std::size_t s = 0; s < plan.split.size(); ++s) {
    for (const std::uint32_t position : plan.split[s]) {
      manifest.splits[s].simulations.push_back(sources.universes()[position].number);
      manifest.splits[s].seeds.push_back(sources.at(position).seed);
    }
  }
  for (const PlannedShard& shard : plan.shards) {
    SplitRecord& record = manifest.splits[static_cast<std::size_t>(shard.split)];
    record.samples += shard.samples.size();
    record.shards.push_back(shard.path);
  }
  return manifest;
}

}  // namespace

DatasetManifest shard_suite(const Communicator& comm, const core::Log& log, core::OutputDirectory& output,
                            const JoinedSources& sources, const ShardPlan& plan,
                            const ShardSettings& settings) {
  std::vector<PlannedShard> missing;
  std::copy_if(plan.shards.begin(), plan.shards.end(), std::back_inserter(missing),
               [&](const PlannedShard& shard) { return output.find(shard.path) == nullptr; });
  const double particles = particles_of_first(comm, sources, settings.redshifts.front());
  const SampleSpec spec = common_spec(sources, plan, settings, particles);
  check_inputs(comm, log, missing, sources, settings.content(), particles);
  core::Progress progress(log, "shards", static_cast<std::int64_t>(missing.size()));
  std::vector<std::string> paths;
  for (const PlannedShard& shard : missing) paths.push_back(shard.path);
  publish_shards(comm, progress, output, paths, [&](std::size_t s, const std::filesystem::path& part) {
    write_shard(part, missing[s], sources, spec, settings);
  });
  const Collected statistics =
      collect(comm, output, plan, spec, particles_in(sources, plan, settings, particles));
  if (statistics.counts.particles_binned != statistics.counts.particles_in)
    check_sums(comm, sources, settings.redshifts);
  comm.agree([&] {
    ensure(statistics.counts.particles_binned == statistics.counts.particles_in, Fault::internal,
           "{} of {} particles are in the shards.", statistics.counts.particles_binned,
           statistics.counts.particles_in);
  });
  return to_manifest(sources, plan, settings, spec, statistics);
}

}  // namespace cosmo::dataset
