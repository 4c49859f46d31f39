#include "dataset/make/phases.hpp"

#include <algorithm>
#include <utility>

#include "core/error.hpp"
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

template <class T>
std::vector<float> sketch_of(SplitReader& reader, std::uint32_t index) {
  std::vector<T> voxels(reader.spec().voxels());
  reader.read(index, std::span(voxels));
  const auto side = static_cast<std::size_t>(reader.spec().side());
  return histogram::phase_sketch(std::span<const T>(voxels).first(side * side * side),
                                 static_cast<int>(side));
}

/// The first sub-volume of each simulation, and the sketches of this rank's share; those of other ranks are zeros.
void read_split(const core::Communicator& comm, const std::filesystem::path& directory,
                const DatasetManifest& manifest, Split split, std::vector<Member>& members,
                std::vector<float>& sketches) {
  SplitReader reader(directory, manifest, split, comm.rank(), comm.size());
  const auto cells = static_cast<std::size_t>(histogram::sketch_side(reader.spec().side()));
  for (std::uint32_t i = 0; i < reader.size(); ++i) {
    const Sample& sample = reader.sample(i);
    if (sample.subvolume != 0 || sample.roll != 0) continue;
    members.push_back({sample.simulation, sample.seed, split});
    sketches.resize(members.size() * cells * cells * cells);
    if (static_cast<int>(members.size() % static_cast<std::size_t>(comm.size())) != comm.rank()) continue;
    const std::vector<float> own = reader.spec().kind == VoxelKind::counts
                                       ? sketch_of<std::uint16_t>(reader, i)
                                       : sketch_of<float>(reader, i);
    std::ranges::copy(own, sketches.end() - static_cast<std::ptrdiff_t>(own.size()));
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
      histogram::find_shared_phases(sketches, members.size(), manifest.spec.kind == VoxelKind::counts),
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

void check_phases(const core::Communicator& comm, const core::Log& log,
                  const std::filesystem::path& directory, const DatasetManifest& manifest, bool allow_leak) {
  log.info(
      "no seeds are stated, so that universes are taken to have phases of their own; their content is compared");
  const DatasetPhases phases = compare_phases(comm, log, directory, manifest);
  if (!phases.finding.conclusive && phases.finding.universes > 1)
    log.warn("{}: give the universes' seeds if some have the same.", phases.finding.text());
  if (phases.pairs.empty()) return;
  comm.agree([&] {
    core::ensure(
        phases.across.empty() || allow_leak, core::Fault::config,
        "{}, and are in different splits: leave all but one of such universes out, put them into one (import's "
        "column split), or give --allow-leak for an experiment with that.",
        phases.remark());
  });
  log.warn("{}.", phases.remark());
}

}  // namespace cosmo::dataset
