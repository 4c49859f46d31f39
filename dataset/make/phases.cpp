#include "dataset/make/phases.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/file/files.hpp"
#include "core/output/journal.hpp"
#include "dataset/load/split_reader.hpp"
#include "histogram/phases/phase_sketch.hpp"

namespace cosmo::dataset {

namespace {

/// A simulation of a dataset.
struct Member {
  std::uint32_t simulation;
  std::uint64_t seed;
  Split split;
};

/// How the sketch of a universe is put together of those of its sub-volumes.
struct SketchPlan {
  explicit SketchPlan(const DatasetManifest& manifest)
      : of_sample(histogram::sketch_side(manifest.spec.side())) {
    for (const int candidate : {2, 4}) {
      if (manifest.subvolumes == static_cast<std::uint32_t>(candidate * candidate * candidate) &&
          of_sample % candidate == 0)
        cuts = candidate;
    }
  }
  int of_sample;  ///< cells per side
  int cuts = 1;   ///< sub-volumes per side that are used: all, or the first of other numbers

  std::size_t cells() const {
    const auto n = static_cast<std::size_t>(of_sample);
    return n * n * n;
  }
  /// Adds a sub-volume's cells, merged to its part of the universe's.
  void add(std::span<const float> sample, std::size_t subvolume, std::span<float> universe) const {
    const auto n = static_cast<std::size_t>(of_sample), c = static_cast<std::size_t>(cuts), part = n / c;
    for (std::size_t i = 0; i < sample.size(); ++i) {
      const std::size_t x = subvolume / (c * c) * part + i / (n * n) / c,
                        y = subvolume / c % c * part + i / n % n / c, z = subvolume % c * part + i % n / c;
      universe[(x * n + y) * n + z] += sample[i];
    }
  }
};

template <class T>
std::vector<float> sketch_of(SplitReader& reader, std::uint32_t index) {
  std::vector<T> voxels(reader.spec().input.voxels());
  reader.read(index, std::span(voxels));
  const auto side = static_cast<std::size_t>(reader.spec().side());
  return histogram::phase_sketch(std::span<const T>(voxels).first(side * side * side),
                                 static_cast<int>(side));
}

/// The sketches of the simulations of a split, from this rank's share of their unrolled samples.
void read_split(const core::Communicator& comm, const std::filesystem::path& directory,
                const DatasetManifest& manifest, Split split, std::vector<Member>& members,
                std::vector<float>& sketches) {
  SplitReader reader(directory, manifest, split, comm.rank(), comm.size());
  const SketchPlan plan(manifest);
  std::map<std::uint32_t, std::size_t> member_of;
  for (std::uint32_t i = 0; i < reader.size(); ++i) {
    const Sample& sample = reader.sample(i);
    if (sample.roll != 0 || (plan.cuts == 1 && sample.subvolume != 0)) continue;
    const auto [place, fresh] = member_of.try_emplace(sample.simulation, members.size());
    if (fresh) {
      members.push_back({sample.simulation, sample.seed, split});
      sketches.resize(members.size() * plan.cells());
    }
    if (static_cast<int>(i % static_cast<std::uint32_t>(comm.size())) != comm.rank()) continue;
    const std::vector<float> own = reader.spec().input.kind == VoxelKind::counts
                                       ? sketch_of<std::uint16_t>(reader, i)
                                       : sketch_of<float>(reader, i);
    plan.add(own, sample.subvolume, std::span(sketches).subspan(place->second * plan.cells(), plan.cells()));
  }
}

}  // namespace

core::Json DatasetPhases::to_json() const {
  return {{"universes", finding.universes},   {"cells", finding.cells}, {"deviation", finding.deviation},
          {"conclusive", finding.conclusive}, {"shared", pairs},        {"across_splits", across}};
}

std::string DatasetPhases::remark() const {
  if (pairs.empty()) return "";
  return fmt::format("{} share their phases{}, as their content shows",
                     across.empty() ? pairs.front() : across,
                     pairs.size() > 1 ? fmt::format(", and {} pairs more do so", pairs.size() - 1) : "");
}

DatasetPhases compare_phases(const core::Communicator& comm, const core::Log& log,
                             const std::filesystem::path& directory, const DatasetManifest& manifest) {
  std::vector<Member> members;
  std::vector<float> sketches;
  comm.agree([&] {
    for (const Split split : {Split::train, Split::validation, Split::test}) {
      if (manifest.split(split).samples > 0) read_split(comm, directory, manifest, split, members, sketches);
    }
  });
  comm.sum(std::span(sketches));
  DatasetPhases phases{
      histogram::find_shared_phases(sketches, members.size(), manifest.spec.input.kind == VoxelKind::counts),
      {},
      ""};
  std::erase_if(phases.finding.pairs, [&](const histogram::SharedPhases& pair) {
    return members[pair.first].seed == members[pair.second].seed;
  });
  for (histogram::SharedPhases& pair : phases.finding.pairs)
    if (members[pair.first].simulation > members[pair.second].simulation) std::swap(pair.first, pair.second);
  std::ranges::sort(phases.finding.pairs, {}, [&](const histogram::SharedPhases& pair) {
    return std::pair(members[pair.first].simulation, members[pair.second].simulation);
  });
  for (const histogram::SharedPhases& pair : phases.finding.pairs) {
    const Member &first = members[pair.first], &second = members[pair.second];
    phases.pairs.push_back(fmt::format("simulations {} ({}) and {} ({}), r = {:.2f},", first.simulation,
                                       name_of(first.split), second.simulation, name_of(second.split),
                                       pair.correlation));
    if (first.split != second.split && phases.across.empty()) phases.across = phases.pairs.back();
  }
  log.info("{}", phases.finding.text());
  return phases;
}

namespace {

/// Removes the shards of a dataset that must not be finished, and its journal, so that --output may be used again. Collective.
void remove_shards(const core::Communicator& comm, const std::filesystem::path& directory,
                   const DatasetManifest& manifest) {
  comm.agree([&] {
    if (!comm.is_root()) return;
    for (const core::FileRecord& file : manifest.base.files) {
      core::remove_file(directory / file.path);
      std::error_code not_empty;
      std::filesystem::remove((directory / file.path).parent_path(), not_empty);
    }
    core::Journal(directory).remove();
  });
}

}  // namespace

void check_phases(const core::Communicator& comm, const core::Log& log,
                  const std::filesystem::path& directory, const DatasetManifest& manifest, bool allow_leak) {
  log.info(
      "no seeds are stated, so that universes are taken to have phases of their own; their content is compared");
  const DatasetPhases phases = compare_phases(comm, log, directory, manifest);
  if (!phases.finding.conclusive && phases.finding.universes > 1)
    log.warn("{}: give the universes' seeds if some have the same.", phases.finding.text());
  if (phases.pairs.empty()) return;
  const bool refused = !phases.across.empty() && !allow_leak;
  if (refused) remove_shards(comm, directory, manifest);
  comm.agree([&] {
    core::ensure(
        !refused, core::Fault::config,
        "{}, and are in different splits: leave all but one of such universes out, put them into one (import's "
        "column split), or give --allow-leak for an experiment with that.",
        phases.remark());
  });
  log.warn("{}.", phases.remark());
}

}  // namespace cosmo::dataset
