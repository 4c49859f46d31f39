#include "dataset/make/dataset_source.hpp"

#include <cmath>
#include <utility>
#include <vector>

#include "core/error.hpp"

namespace cosmo::dataset {

using core::ensure;
using core::Fault;

namespace {

/// Cuts per side of a universe with this number of sub-volumes.
int cuts_of(const std::filesystem::path& directory, const DatasetManifest& manifest) {
  const int cuts = static_cast<int>(std::lround(std::cbrt(static_cast<double>(manifest.subvolumes))));
  ensure(manifest.spec.input.kind == VoxelKind::counts, Fault::config,
         "{} holds fields and other inputs counts: join data of one kind.", directory.string());
  ensure(manifest.spec.rolls == 0, Fault::config,
         "{} holds rolled universes, which cannot be joined: make it again without --rolls.",
         directory.string());
  ensure(static_cast<std::uint32_t>(cuts * cuts * cuts) == manifest.subvolumes, Fault::config,
         "{} has {} samples of a universe: join whole universes, or their 8, 27, ... sub-volumes.",
         directory.string(), manifest.subvolumes);
  return cuts;
}

SourceFacts facts_of(const std::filesystem::path& directory, const DatasetManifest& manifest) {
  const int cuts = cuts_of(directory, manifest);
  return {.name = directory.string(),
          .input = manifest.base.request.id(),
          .parameters = manifest.spec.parameters,
          .box = core::Length(manifest.spec.box_size.value * cuts, manifest.spec.box_size.unit),
          .grid = manifest.spec.side() * cuts,
          .line_of_sight = manifest.spec.line_of_sight,
          .facts = manifest.facts,
          .seeds_assumed = manifest.seeds_assumed,
          .web = manifest.spec.target ? manifest.spec.target->web : std::nullopt,
          .cuts = cuts};
}

/// The universes in ascending order; their parameters and settings from the first sample of each.
std::vector<SourceUniverse> universes_of(const DatasetManifest& manifest,
                                         const std::array<SplitReader, 3>& splits) {
  std::map<std::uint32_t, SourceUniverse> found;
  for (const SplitReader& split : splits) {
    for (std::uint32_t i = 0; i < split.size(); ++i) {
      const Sample& sample = split.sample(i);
      const auto [place, fresh] =
          found.try_emplace(sample.simulation, SourceUniverse{sample.simulation, sample.seed, {}});
      if (!fresh) continue;
      for (std::size_t p = 0; p < manifest.spec.parameters.size(); ++p)
        place->second.parameters.emplace(manifest.spec.parameters.names[p], sample.parameters[p]);
      for (std::size_t s = 0; s < manifest.spec.settings.size(); ++s) {
        const SettingColumn& column = manifest.spec.settings[s];
        place->second.settings.emplace(column.name, column.fact_of(sample.settings[s]));
      }
    }
  }
  std::vector<SourceUniverse> universes;
  for (auto& [simulation, universe] : found) universes.push_back(std::move(universe));
  return universes;
}

}  // namespace

DatasetSource::DatasetSource(const std::filesystem::path& directory, const DatasetManifest& manifest)
    : DatasetSource(directory, manifest,
                    {SplitReader(directory, manifest, Split::train),
                     SplitReader(directory, manifest, Split::validation),
                     SplitReader(directory, manifest, Split::test)}) {}

DatasetSource::DatasetSource(const std::filesystem::path& directory, const DatasetManifest& manifest,
                             std::array<SplitReader, 3> splits)
    : UniverseSource(facts_of(directory, manifest), universes_of(manifest, splits)),
      manifest_(manifest),
      splits_(std::move(splits)) {
  for (std::size_t s = 0; s < splits_.size(); ++s) {
    for (std::uint32_t i = 0; i < splits_[s].size(); ++i) {
      const Sample& sample = splits_[s].sample(i);
      places_[{sample.simulation, sample.subvolume}] = {s, i};
    }
  }
}

void DatasetSource::ensure_there(const SourceContent& content, int cuts, int rolls) const {
  ensure(std::ranges::equal(content.redshifts, manifest_.spec.input.redshifts), Fault::config,
         "{} has counts at z = {} and --redshifts asks for {}: join counts at the same redshifts.",
         common().name, fmt::join(manifest_.spec.input.redshifts, ", "), fmt::join(content.redshifts, ", "));
  ensure(content.target.empty() || (manifest_.spec.target && manifest_.spec.target->name == content.target),
         Fault::config, "{} has no --target {} beside its counts: join data that have one, or leave it out.",
         common().name, content.target);
  ensure(!content.velocity || manifest_.spec.velocity, Fault::config,
         "{} has no velocities beside its counts: join data that have them, or leave out --velocity.",
         common().name);
  ensure(cuts == common().cuts, Fault::config,
         "{} has universes in {} cuts per side and --subvolumes is {}: give --subvolumes {}.", common().name,
         common().cuts, cuts, common().cuts);
  ensure(rolls == 0, Fault::config, "{} is a data set, whose universes cannot be rolled: leave out --rolls.",
         common().name);
}

double DatasetSource::particles(double) { return manifest_.spec.mean_count * std::pow(common().grid, 3); }

std::pair<std::size_t, std::uint32_t> DatasetSource::place_of(std::size_t universe,
                                                              const SourceCut& cut) const {
  const auto found = places_.find({universes()[universe].simulation, cut.subvolume});
  ensure(found != places_.end(), Fault::format, "{} has no sub-volume {} of simulation {}: write it again.",
         common().name, cut.subvolume, universes()[universe].simulation);
  return found->second;
}

void DatasetSource::read(std::size_t universe, const SourceCut& cut, std::span<const double>,
                         std::span<std::uint16_t> counts) {
  const auto [split, sample] = place_of(universe, cut);
  splits_[split].read(sample, counts);
}

void DatasetSource::read_target(std::size_t universe, const SourceCut& cut, const SourceContent&,
                                std::span<float> target) {
  const auto [split, sample] = place_of(universe, cut);
  splits_[split].read(sample, target, Tensor::target);
}

void DatasetSource::read_velocity(std::size_t universe, const SourceCut& cut, double,
                                  std::span<const std::uint16_t>, std::span<float> velocity) {
  const auto [split, sample] = place_of(universe, cut);
  splits_[split].read(sample, velocity, Tensor::velocity);
}

}  // namespace cosmo::dataset
