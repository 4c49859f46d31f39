#include "infer/input/universe_list.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/error.hpp"
#include "core/file/files.hpp"
#include "core/file/text_file.hpp"
#include "core/format/json.hpp"
#include "core/universe/simulation_manifest.hpp"
#include "histogram/particles/binary_particles.hpp"

namespace cosmo::infer {

using core::ensure;
using core::Fault;

namespace {

namespace fs = std::filesystem;

/// The stage of the output in a directory; empty if it is none.
std::string stage_in(const fs::path& directory) {
  const fs::path path = directory / core::kManifestName;
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return "";
  const core::Json json = core::read_json(path);
  return json.is_object() && json.contains("stage") && json["stage"].is_string() ? json["stage"] : "";
}

/// Lists universes, reading each suite's manifest once.
class Lister {
 public:
  Lister(const nn::ModelManifest& model, const InputReading& reading) : model_(model), reading_(reading) {}

  void add(const fs::path& path) {
    ensure(fs::exists(path), Fault::io,
           "{} of --input does not exist: give counts, snapshots, .npy files or a suite.", path.string());
    if (path.extension() == ".npy")
      add_array(path);
    else if (fs::is_directory(path))
      add_directory(path);
    else
      add_one(path);
  }

  UniverseList list;

 private:
  /// A suite's manifest, its files by their paths, and its universes by those of their counts.
  struct Suite {
    explicit Suite(core::SimulationManifest suite) : manifest(std::move(suite)) {
      for (const core::FileRecord& file : manifest.base.files) files.emplace(file.path, &file);
      for (const core::SimulationRecord& record : manifest.simulations) {
        for (const core::SimulationOutput& output : record.outputs) by_counts.emplace(output.counts, &record);
      }
    }
    Suite(const Suite&) = delete;
    Suite& operator=(const Suite&) = delete;

    core::SimulationManifest manifest;
    std::map<std::string, const core::FileRecord*> files;
    std::map<std::string, const core::SimulationRecord*> by_counts;
  };

  UniverseSource source(const fs::path& path) const { return {path, {}, reading_.snapshots}; }

  void add_array(const fs::path& path) {
    const auto channels = static_cast<int>(model_.input.redshifts.size());
    take(path);
    const dataset::NpySamples array(path, channels);
    for (std::size_t i = 0; i < array.size(); ++i) {
      UniverseSource universe = source(path);
      universe.box = reading_.box;
      universe.element = i;
      const std::string name = path.string();
      list.universes.push_back(array.of_many()
                                   ? ListedUniverse{universe, fmt::format("{} {}", name, i), {}, i}
                                   : ListedUniverse{universe, name});
    }
  }

  void add_directory(const fs::path& path) {
    const std::string stage = stage_in(path);
    if (stage == "generate") return add_suite(path);
    ensure(stage != "shard", Fault::config, "{} is a dataset: give it as --data.", path.string());
    ensure(stage != "train", Fault::config, "{} is a model: give it as --model.", path.string());
    ensure(
        !fs::exists(path / "sim-00000"), Fault::config,
        "{} has no manifest.json: it is a suite that is not finished, so run its cosmo-sim generate again, or give "
        "single universes, as {}.",
        path.string(), (path / "sim-00000").string());
    std::vector<fs::path> arrays, counts;
    bool others = false;
    for (const fs::directory_entry& entry : fs::directory_iterator(path)) {
      if (core::is_hidden(entry.path())) continue;
      const fs::path extension = entry.path().extension();
      if (extension == ".npy") {
        arrays.push_back(entry.path());
        continue;
      }
      others = others || extension == ".h5" || extension == ".hdf5" ||
               histogram::BinaryParticles::is_one(entry.path());
      if (extension == ".h5") counts.push_back(entry.path());
    }
    ensure(
        others || !arrays.empty(), Fault::config,
        "{} holds neither counts, a snapshot nor .npy files: give a suite, the directory of a universe, or files.",
        path.string());
    ensure(!others || arrays.empty(), Fault::config,
           "{} holds both .npy and HDF5 files: give them one by one, or in directories of their own.",
           path.string());
    std::set<Held> kinds;
    if (!counts.empty() && counts_in(path, model_).empty()) {
      for (const fs::path& file : counts) kinds.insert(held_in(file));
    }
    if (kinds == std::set{Held::pack} || (kinds == std::set{Held::counts} && counts.size() > 1)) {
      std::ranges::sort(counts);
      for (const fs::path& file : counts) add_one(file);
      return;
    }
    if (others) return add_one(path);
    std::ranges::sort(arrays);
    for (const fs::path& array : arrays) add_array(array);
  }

  void add_suite(const fs::path& path) {
    list.watched.note(path / core::kManifestName);
    const Suite suite(core::load_simulation_manifest(path));
    for (const auto& [name, file] : suite.files) list.watched.note(path / name);
    ensure(!suite.manifest.simulations.empty(), Fault::config, "{} is a suite without universes: make them.",
           path.string());
    list.suites.push_back(path);
    for (const core::SimulationRecord& record : suite.manifest.simulations) {
      UniverseSource universe = source(path);
      universe.suite = path;
      if (record.row) {
        add_row(universe, suite, record);
        continue;
      }
      for (const double redshift : model_.input.redshifts)
        universe.records.push_back(*suite.files.at(record.counts(redshift)));
      universe.path = path / fs::path(universe.records.front().path).parent_path();
      list.universes.push_back({universe, universe.path.string(), record.universe});
    }
  }

  /// A universe in a pack of a suite.
  void add_row(UniverseSource universe, const Suite& suite, const core::SimulationRecord& record) {
    const std::string& pack = record.counts(model_.input.redshifts.front());
    universe.path = universe.suite / pack;
    universe.element = *record.row;
    universe.packs = list.packs.get();
    universe.records = {*suite.files.at(pack)};
    const std::string name = fmt::format("{} {}", universe.suite.string(), record.index);
    list.universes.push_back({std::move(universe), name, record.universe, record.index});
  }

  /// Each universe of a pack, whose suite may be elsewhere.
  void add_pack(const fs::path& path) {
    take(path);
    const fs::path file = fs::absolute(path).lexically_normal(), root = file.parent_path().parent_path();
    const Suite* suite = suite_at(root);
    const std::string inside = file.lexically_relative(root).generic_string();
    const bool listed = suite != nullptr && suite->files.contains(inside);
    if (listed) (void)core::check_content(root, *suite->files.at(inside));
    const histogram::CountPack& pack = list.packs->open(path);
    for (std::size_t row = 0; row < pack.header().universes.size(); ++row) {
      UniverseSource universe = source(path);
      universe.element = row;
      universe.packs = list.packs.get();
      const histogram::PackedUniverse& one = pack.header().universes[row];
      const auto known = listed ? std::optional(one.universe) : std::nullopt;
      list.universes.push_back(
          {std::move(universe), fmt::format("{} {}", path.string(), one.simulation), known, one.simulation});
    }
  }

  /// A file, or the directory of a universe.
  void add_one(const fs::path& path) {
    std::error_code error;
    if (path.extension() == ".h5" && fs::is_regular_file(path, error) && held_in(path) == Held::pack)
      return add_pack(path);
    take_files_of(path);
    list.universes.push_back({source(path), path.string()});
    recognise(list.universes.back());
  }

  void take(const fs::path& file) {
    list.files.push_back(file);
    list.watched.note(file);
  }

  void take_files_of(const fs::path& path) {
    if (!fs::is_directory(path)) return take(path);
    const std::vector<fs::path> counts = counts_in(path, model_);
    for (const fs::path& file : counts) take(file);
    if (!counts.empty()) return;
    for (const fs::directory_entry& entry : fs::directory_iterator(path)) {
      if (core::is_hidden(entry.path())) continue;
      if (entry.path().extension() == ".hdf5" || histogram::BinaryParticles::is_one(entry.path()))
        take(entry.path());
    }
  }

  /// Gives a universe what the manifest of its suite states, if its counts are still there.
  void recognise(ListedUniverse& universe) {
    const fs::path path = fs::absolute(universe.source.path).lexically_normal();
    const bool directory = fs::is_directory(path);
    const std::vector<fs::path> counts = directory ? counts_in(path, model_) : std::vector<fs::path>{path};
    if (counts.empty()) return;
    const fs::path root = counts.front().parent_path().parent_path();
    const Suite* suite = suite_at(root);
    if (suite == nullptr) return;
    std::vector<core::FileRecord> records;
    std::optional<core::Universe> known;
    for (const fs::path& file : counts) {
      const auto found = suite->by_counts.find(file.lexically_relative(root).generic_string());
      if (found == suite->by_counts.end()) return;
      records.push_back(*suite->files.at(found->first));
      known = found->second->universe;
    }
    universe.source.suite = root;
    universe.source.records = std::move(records);
    universe.known = known;
  }

  /// The suite in a directory, or nullptr. Its other files are not looked at.
  const Suite* suite_at(const fs::path& root) {
    const auto [place, first] = suites_.try_emplace(root);
    if (first && stage_in(root) == "generate") {
      const fs::path path = root / core::kManifestName;
      place->second.emplace(core::parse_simulation_manifest(
          core::parse_manifest(core::read_json(path), path, "generate"), root));
    }
    return place->second ? &*place->second : nullptr;
  }

  const nn::ModelManifest& model_;
  const InputReading& reading_;
  std::map<fs::path, std::optional<Suite>> suites_;
};

}  // namespace

std::vector<std::string> input_names(const std::vector<std::string>& words) {
  std::vector<std::string> names;
  for (const std::string& word : words) {
    std::error_code error;
    if (fs::exists(word, error)) {  // and may have a comma in its name
      names.push_back(word);
      continue;
    }
    for (const std::string_view name : core::cells_of(word, ',')) {
      ensure(!name.empty(), Fault::usage, "Option --input {} has an empty name: give files or directories.",
             word);
      names.emplace_back(name);
    }
  }
  return names;
}

UniverseList list_universes(const nn::ModelManifest& model, const std::vector<std::string>& names,
                            const InputReading& reading) {
  std::set<fs::path> seen;
  Lister lister(model, reading);
  for (const std::string& name : names) {
    const bool first = seen.insert(fs::absolute(name).lexically_normal()).second;
    ensure(first, Fault::usage, "Option --input names {} twice: give each universe once.", name);
    lister.add(name);
  }
  const std::vector<ListedUniverse>& universes = lister.list.universes;
  const bool arrays = std::ranges::any_of(
      universes, [](const ListedUniverse& one) { return one.source.path.extension() == ".npy"; });
  ensure(arrays || !reading.box, Fault::usage,
         "--box applies to an .npy file, which {} is not: leave it out.", names.front());
  return std::move(lister.list);
}

namespace {

/// What is known of a universe, or of all of its suite if that is given as a whole.
core::Facts facts_of(const OpenUniverse& open, const UniverseSource& source, bool whole_suite) {
  if (!whole_suite) return open.facts;
  const core::Manifest suite = core::load_manifest(source.suite, "generate");
  const core::Facts facts = core::read_facts(suite.details, (source.suite / core::kManifestName).string());
  return facts.empty() ? open.facts : facts;
}

}  // namespace

ListedSizes check_universes(const nn::ModelManifest& model, const UniverseList& list, int threads) {
  ListedSizes sizes;
  const UniverseSource* before = nullptr;
  std::uint64_t samples = 0;
  for (const ListedUniverse& universe : list.universes) {
    const UniverseSource& source = universe.source;
    const bool same_array = before != nullptr && source.element > 0 && source.path == before->path;
    const bool whole_suite = std::ranges::count(list.suites, source.suite) > 0;
    const bool same_suite = before != nullptr && whole_suite && source.suite == before->suite;
    before = &source;
    if (!same_array && !same_suite) {
      const OpenUniverse open =
          open_universe(model, source, whole_suite ? Compare::content : Compare::nothing);
      const auto cuts = static_cast<std::uint64_t>(open.cells / model.input.size);
      samples = cuts * cuts * cuts;
      sizes.memory = std::max(sizes.memory, open.memory_bytes(model, threads));
      if (sizes.cells == 0) sizes.cells = open.cells;
      sizes.facts.push_back(
          {whole_suite ? source.suite.string() : source.path.string(), facts_of(open, source, whole_suite)});
    }
    sizes.samples += samples;
  }
  return sizes;
}

}  // namespace cosmo::infer
