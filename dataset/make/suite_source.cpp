#include "dataset/make/suite_source.hpp"

#include <algorithm>
#include <mutex>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/parallel/parallel.hpp"
#include "core/parallel/rounds.hpp"
#include "histogram/coarse_counts.hpp"
#include "histogram/count_file.hpp"
#include "histogram/field_file.hpp"

namespace cosmo::dataset {

using core::ensure;
using core::Fault;
using core::SimulationRecord;
using histogram::CountFile;
using histogram::CountFileHeader;

namespace {

/// What defines the suite's classes, if it has any.
std::optional<core::WebDefinition> web_of(const core::SimulationManifest& suite) {
  return core::read_web(suite.base.request.config);
}

SourceFacts facts_of(const std::filesystem::path& directory, const core::SimulationManifest& suite) {
  return {.name = directory.string(),
          .input = suite.base.request.id(),
          .parameters = suite.parameters,
          .box = suite.box_size,
          .grid = suite.grid,
          .line_of_sight = suite.line_of_sight,
          .facts = suite.facts,
          .seeds_assumed = suite.seeds_assumed,
          .twins = suite.twins,
          .web = web_of(suite)};
}

std::vector<SourceUniverse> universes_of(const core::SimulationManifest& suite) {
  std::vector<SourceUniverse> universes;
  for (const SimulationRecord& record : suite.simulations) {
    SourceUniverse& universe = universes.emplace_back(record.index, record.universe.seed);
    for (const core::CosmologyParameter& row : core::kCosmologyParameters)
      universe.parameters.emplace(row.name, record.universe.cosmology.*row.member);
    universe.settings = record.settings;
    if (record.row || record.outputs.empty()) continue;
    const core::FileRecord* counts = suite.base.find(record.outputs.front().counts);
    if (counts != nullptr) universe.content = counts->sha256;
  }
  return universes;
}

/// Throws Error{format} naming the file unless it agrees with the suite's manifest.
void check_header(const CountFileHeader& header, const SimulationRecord& record, double redshift,
                  const std::filesystem::path& directory, const core::SimulationManifest& suite,
                  double particles) {
  const auto agrees = [&](bool equal, std::string_view what) {
    ensure(equal, Fault::format, "{} has another {} than the suite's {}: run cosmo-sim again with --force.",
           (directory / record.counts(redshift)).string(), what,
           record.row ? core::kUniverseTableName : core::kManifestName);
  };
  agrees(header.cells_per_side == suite.grid, "grid");
  agrees(header.box_size == suite.box_size.mpc_h(record.universe.cosmology.h), "box");
  agrees(header.universe.seed == record.universe.seed, "seed");
  agrees(header.redshift == redshift, "redshift");
  agrees(header.line_of_sight == suite.line_of_sight, "line of sight");
  agrees(static_cast<double>(header.particles) == particles, "number of particles");
  for (const auto& row : core::kCosmologyParameters) {
    agrees(header.universe.cosmology.*row.member == record.universe.cosmology.*row.member, row.name);
  }
}

/// The files of a universe at this redshift, or nothing.
const core::SimulationOutput* output_of(const SimulationRecord& record, double redshift) {
  const auto found = std::ranges::find(record.outputs, redshift, &core::SimulationOutput::redshift);
  return found == record.outputs.end() ? nullptr : &*found;
}

/// The path of a universe's target, or nothing: classes are those of the first redshift.
std::string target_of(const SimulationRecord& record, const SourceContent& content) {
  if (content.target != histogram::kWeb) return record.initial;
  const core::SimulationOutput* output = output_of(record, content.redshifts.front());
  return output == nullptr ? "" : output->web;
}

/// The path of its velocities at this redshift, likewise.
std::string velocity_of(const SimulationRecord& record, double redshift) {
  const core::SimulationOutput* output = output_of(record, redshift);
  return output == nullptr ? "" : output->velocity;
}

/// Throws Error{format} naming the file unless it has this field of the universe.
histogram::FieldFileHeader check_field(const std::filesystem::path& file, std::string_view quantity,
                                       int components, const SimulationRecord& record,
                                       const core::SimulationManifest& suite) {
  histogram::FieldFileHeader header = histogram::FieldFile(file).header();
  ensure(header.quantity == quantity && header.components == components &&
             header.cells_per_side == suite.grid &&
             header.box_size == suite.box_size.mpc_h(record.universe.cosmology.h) &&
             header.universe == record.universe,
         Fault::format, "{} is not the {} field of simulation {}: run cosmo-sim again with --force.",
         file.string(), quantity, record.index);
  return header;
}

/// The same for the target.
void check_target(const std::filesystem::path& file, const SimulationRecord& record,
                  const SourceContent& content, const core::SimulationManifest& suite) {
  const histogram::FieldFileHeader header = check_field(file, content.target, 1, record, suite);
  ensure(content.target != histogram::kWeb ||
             (header.redshift == content.redshifts.front() && header.web == web_of(suite)),
         Fault::format, "{} has other classes than its suite: run cosmo-sim again with --force.",
         file.string());
}

/// The same for velocities; throws Error{config} unless they are those of the particles that are counted.
void check_velocity(const std::filesystem::path& file, const SimulationRecord& record,
                    const core::SimulationManifest& suite, double particles) {
  const histogram::FieldFileHeader header = check_field(file, "velocity", 3, record, suite);
  ensure(
      static_cast<double>(header.particles) == particles, Fault::config,
      "{} has the velocities of {} particles, of which {} were counted: leave out --velocity, or run cosmo-sim "
      "without --tracers.",
      file.string(), header.particles, particles);
}

}  // namespace

SuiteSource::SuiteSource(std::filesystem::path directory, core::SimulationManifest manifest)
    : UniverseSource(facts_of(directory, manifest), universes_of(manifest)),
      directory_(std::move(directory)),
      manifest_(std::move(manifest)) {}

std::uint64_t SuiteSource::memory_bytes() const {
  if (manifest_.pack == 0) return 0;
  const auto each = static_cast<std::size_t>(manifest_.pack);
  return histogram::OpenPacks::memory_bytes((universes().size() + each - 1) / each, each);
}

void SuiteSource::ensure_there(const SourceContent& content, int, int) const {
  for (const SimulationRecord& record : manifest_.simulations) {
    for (const double redshift : content.redshifts) (void)record.counts(redshift);
    ensure(content.target.empty() || !target_of(record, content).empty(), Fault::config,
           "{} has no {} field of simulation {}: run cosmo-sim generate with --save counts,{}.",
           directory_.string(), content.target, record.index, content.target);
    ensure(!content.velocity || !velocity_of(record, content.redshifts.front()).empty(), Fault::config,
           "{} has no velocities of simulation {}: run cosmo-sim generate with --save counts,velocity.",
           directory_.string(), record.index);
  }
}

CountFile SuiteSource::counts_of(const SimulationRecord& record, double redshift) {
  const std::filesystem::path path = directory_ / record.counts(redshift);
  return record.row ? CountFile(packs_.open(path), *record.row, redshift) : CountFile(path);
}

/// Compares the content of the universes' files with the manifest. May run in several threads.
void SuiteSource::check_files(std::span<const std::size_t> universes, const SourceContent& content) {
  std::set<std::string> files;  // packs are those of many
  for (const std::size_t universe : universes) {
    const SimulationRecord& record = manifest_.simulations[universe];
    for (const double redshift : content.redshifts) files.insert(record.counts(redshift));
    if (!content.target.empty()) files.insert(target_of(record, content));
    if (content.velocity) files.insert(velocity_of(record, content.redshifts.front()));
  }
  for (const std::string& file : files) {
    const core::FileState before = core::check_content(directory_, *manifest_.base.find(file));
    const std::lock_guard lock(checking_);
    checked_.note(directory_ / file, before);
  }
}

double SuiteSource::particles(double redshift) {
  const std::size_t first = 0;
  check_files(std::span(&first, 1), {std::span(&redshift, 1), {}});
  return static_cast<double>(counts_of(manifest_.simulations.front(), redshift).header().particles);
}

void SuiteSource::check(const core::Communicator& comm, const core::Log& log,
                        std::span<const std::size_t> universes, const SourceContent& content,
                        double particles) {
  std::mutex hdf5;
  const auto check = [&](std::span<const std::size_t> unit) {
    check_files(unit, content);
    const std::lock_guard lock(hdf5);
    for (const std::size_t universe : unit) {
      const SimulationRecord& record = manifest_.simulations[universe];
      for (const double redshift : content.redshifts)
        check_header(counts_of(record, redshift).header(), record, redshift, directory_, manifest_,
                     particles);
      if (!content.target.empty())
        check_target(directory_ / target_of(record, content), record, content, manifest_);
      if (content.velocity)
        check_velocity(directory_ / velocity_of(record, content.redshifts.front()), record, manifest_,
                       particles);
      if (!record.row) continue;
      const histogram::CountPack& pack = packs_.open(directory_ / record.counts(content.redshifts.front()));
      ensure(pack.header().universes[*record.row].simulation == record.index, Fault::format,
             "{} has another number of a universe than the suite's {}: run cosmo-sim again with --force.",
             pack.path().string(), core::kUniverseTableName);
    }
  };
  const auto pack_of = [&](std::size_t universe) {
    return universe / static_cast<std::size_t>(std::max(manifest_.pack, 1));
  };
  std::vector<std::span<const std::size_t>> units;  // universes that share their files
  for (std::span<const std::size_t> left = universes; !left.empty();) {
    const auto end = std::ranges::find_if(
        left, [&](std::size_t universe) { return pack_of(universe) != pack_of(left.front()); });
    units.push_back(left.first(static_cast<std::size_t>(end - left.begin())));
    left = left.subspan(units.back().size());
  }
  const auto batch = static_cast<std::size_t>(core::thread_count());  // one unit per thread
  std::span<const std::span<const std::size_t>> left = units;
  core::Progress progress(log, "simulations checked", static_cast<std::int64_t>(universes.size()));
  core::in_rounds(
      comm, (units.size() + batch - 1) / batch,
      [&](std::size_t b) {
        const auto mine = std::span(units).subspan(b * batch);
        core::in_threads(std::min(batch, mine.size()), [&](std::size_t i, std::size_t) { check(mine[i]); });
      },
      [&](std::size_t batches) {
        std::size_t checked = 0;
        for (std::size_t done = std::min(left.size(), batches * batch); done > 0; --done) {
          checked += left.front().size();
          left = left.subspan(1);
        }
        progress.advance(static_cast<std::int64_t>(checked));
      });
  checked_.share(comm);
}

void SuiteSource::read(std::size_t universe, const SourceCut& cut, std::span<const double> redshifts,
                       std::span<std::uint16_t> counts) {
  const SimulationRecord& record = manifest_.simulations[universe];
  const std::size_t channel = counts.size() / redshifts.size();
  for (const double redshift : redshifts) {
    histogram::read_coarse(counts_of(record, redshift), manifest_.grid / cut.grid, cut.origin, cut.cells,
                           counts.first(channel));
    checked_.ensure_unchanged(directory_ / record.counts(redshift));
    counts = counts.subspan(channel);
  }
}

void SuiteSource::read_target(std::size_t universe, const SourceCut& cut, const SourceContent& content,
                              std::span<float> target) {
  const std::filesystem::path path = directory_ / target_of(manifest_.simulations[universe], content);
  histogram::read_coarse(histogram::FieldFile(path), manifest_.grid / cut.grid, cut.origin, cut.cells,
                         target);
  checked_.ensure_unchanged(path);
}

void SuiteSource::read_velocity(std::size_t universe, const SourceCut& cut, double redshift,
                                std::span<const std::uint16_t> counts, std::span<float> velocity) {
  const std::filesystem::path path = directory_ / velocity_of(manifest_.simulations[universe], redshift);
  histogram::read_mean_velocity(histogram::FieldFile(path), manifest_.grid / cut.grid, cut.origin, cut.cells,
                                counts, velocity);
  checked_.ensure_unchanged(path);
}

void SuiteSource::check_sum(std::size_t universe, std::span<const double> redshifts) {
  for (const double redshift : redshifts) counts_of(manifest_.simulations[universe], redshift).check_sum();
}

}  // namespace cosmo::dataset
