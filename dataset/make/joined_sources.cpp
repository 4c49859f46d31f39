#include "dataset/make/joined_sources.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "core/error.hpp"
#include "core/universe/simulation_manifest.hpp"
#include "dataset/make/dataset_source.hpp"
#include "dataset/make/suite_source.hpp"

namespace cosmo::dataset {

using core::ensure;
using core::Fault;

namespace {

constexpr const char* kInput = "input";      ///< column of the number of the source
constexpr const char* kUnknown = "unknown";  ///< text of what a source does not state

/// Throws Error{config} unless universes of both can be samples of one dataset.
void ensure_alike(const SourceFacts& one, const SourceFacts& other) {
  const auto alike = [&](bool equal, const char* what, const std::string& here, const std::string& there) {
    ensure(equal, Fault::config, "{} has {} {} and {} has {}: join universes that are alike.", one.name, what,
           here, other.name, there);
  };
  const auto box = [](const SourceFacts& facts) {
    return fmt::format("{:.9g} {}", facts.box.value, name_of(facts.box.unit));
  };
  constexpr double kRounding = 1e-6;
  alike(one.box.unit == other.box.unit && std::abs(one.box.value / other.box.value - 1) < kRounding,
        "a box of", box(one), box(other));
  alike(one.line_of_sight == other.line_of_sight, "positions in", core::describe_space(one.line_of_sight),
        core::describe_space(other.line_of_sight));
}

/// Whether parameters that both universes state are equal.
bool agree(const SourceUniverse& one, const SourceUniverse& other) {
  return std::ranges::all_of(one.parameters, [&](const auto& parameter) {
    const auto found = other.parameters.find(parameter.first);
    return found == other.parameters.end() || found->second == parameter.second;
  });
}

}  // namespace

std::unique_ptr<UniverseSource> open_suite(const std::filesystem::path& directory) {
  return std::make_unique<SuiteSource>(directory, core::load_simulation_manifest(directory));
}

std::unique_ptr<UniverseSource> open_source(const std::filesystem::path& directory) {
  const std::filesystem::path path = directory / core::kManifestName;
  const core::Json json = std::filesystem::exists(path) ? core::read_json(path) : core::Json();
  if (json.is_object() && json.contains("stage") && json["stage"] == "shard")
    return std::make_unique<DatasetSource>(directory, load_dataset_manifest(directory));
  return open_suite(directory);
}

JoinedSources JoinedSources::open(const std::vector<std::string>& directories) {
  std::vector<std::unique_ptr<UniverseSource>> sources;
  std::map<std::string, std::string> ids;
  for (const std::string& directory : directories) {
    sources.push_back(directories.size() > 1 ? open_source(directory) : open_suite(directory));
    const SourceFacts& facts = sources.back()->common();
    const auto [place, fresh] = ids.emplace(facts.input, facts.name);
    ensure(fresh, Fault::config, "{} and {} are the same output: name it once.", place->second, facts.name);
  }
  return JoinedSources(std::move(sources));
}

JoinedSources::JoinedSources(std::vector<std::unique_ptr<UniverseSource>> sources)
    : sources_(std::move(sources)) {
  std::uint32_t first = 0;
  for (std::size_t s = 0; s < sources_.size(); ++s) {
    ensure_alike(sources_.front()->common(), sources_[s]->common());
    std::uint32_t end = 0;
    const std::vector<SourceUniverse>& own = sources_[s]->universes();
    for (std::size_t u = 0; u < own.size(); ++u) {
      universes_.push_back({s, u, first + own[u].simulation});
      end = std::max(end, own[u].simulation + 1);
    }
    first += end;
  }
  if (sources_.size() > 1) ensure_different();
}

/// Universes of two sources are the same if seed, parameters and all facts that both state are equal; where neither has
/// seeds, if their counts are.
void JoinedSources::ensure_different() const {
  std::multimap<std::uint64_t, std::size_t> by_seed;
  for (std::size_t i = 0; i < universes_.size(); ++i) {
    const auto [first, last] = by_seed.equal_range(at(i).seed);
    for (auto other = first; other != last; ++other) {
      const std::size_t j = other->second;
      if (universes_[i].source == universes_[j].source || !agree(at(i), at(j))) continue;
      const SourceFacts &source = sources_[universes_[i].source]->common(),
                        &before = sources_[universes_[j].source]->common();
      const bool assumed = source.seeds_assumed && before.seeds_assumed;
      if (assumed && !at(i).content.empty() && !at(j).content.empty() && at(i).content != at(j).content)
        continue;
      core::Facts one = known(i), two = known(j);
      for (core::Facts* facts : {&one, &two}) {
        facts->erase(kInput);
        std::erase_if(*facts, [](const auto& entry) { return entry.second.is_several(); });
      }
      ensure(one.empty() || two.empty() || !core::differing(one, two).empty(), Fault::config,
             "Universe {} of {} is also in {}: join each once{}.", at(i).simulation, source.name, before.name,
             assumed ? ", or state their seeds in a column seed if they are different" : "");
    }
    by_seed.emplace(at(i).seed, i);
  }
}

int JoinedSources::least_grid() const {
  int least = first().grid;
  for (const auto& source : sources_) least = std::min(least, source->common().grid);
  return least;
}

const SourceUniverse& JoinedSources::at(std::size_t position) const {
  return sources_[universes_[position].source]->universes()[universes_[position].universe];
}

std::vector<std::vector<std::uint32_t>> JoinedSources::together() const {
  std::map<std::uint64_t, std::size_t> places;
  std::vector<std::vector<std::uint32_t>> groups;
  for (std::uint32_t position = 0; position < universes_.size(); ++position) {
    const auto twins = static_cast<std::uint64_t>(first().twins);
    const std::uint64_t key = sources_.size() > 1 ? at(position).seed : universes_[position].universe / twins;
    const auto [place, fresh] = places.try_emplace(key, groups.size());
    if (fresh) groups.emplace_back();
    groups[place->second].push_back(position);
  }
  return groups;
}

void JoinedSources::ensure_equal_particles(double redshift) const {
  constexpr double kRounding = 1e-3;
  const double particles = sources_.front()->particles(redshift);
  for (const auto& source : sources_) {
    const double own = source->particles(redshift);
    ensure(std::abs(own / particles - 1) < kRounding, Fault::config,
           "{} has {:.9g} particles in a universe and {} has {:.9g}: join universes that are alike.",
           first().name, particles, source->common().name, own);
  }
}

core::ParameterSpace JoinedSources::parameters() const {
  core::ParameterSpace space;
  const auto include = [&](const std::string& name, double low, double high) {
    const auto p = static_cast<std::size_t>(std::ranges::find(space.names, name) - space.names.begin());
    if (p == space.size()) return space.add(name, low, high);
    space.low[p] = std::min(space.low[p], low);
    space.high[p] = std::max(space.high[p], high);
  };
  for (const auto& source : sources_) {
    const core::ParameterSpace& own = source->common().parameters;
    for (std::size_t p = 0; p < own.size(); ++p) include(own.names[p], own.low[p], own.high[p]);
  }
  for (std::size_t i = 0; sources_.size() > 1 && i < universes_.size(); ++i) {
    for (const std::string& name : std::vector(space.names)) {
      const auto value = at(i).parameters.find(name);
      ensure(value != at(i).parameters.end(), Fault::config,
             "{} does not state {} of its universes, which varies in another input: leave one of them out.",
             sources_[universes_[i].source]->common().name, name);
      include(name, value->second, value->second);
    }
  }
  return space;
}

core::Facts JoinedSources::facts() const {
  core::Facts all = first().facts;
  for (std::size_t s = 1; s < sources_.size(); ++s)
    all = core::joined(std::move(all), sources_[s]->common().facts);
  return all;
}

core::Facts JoinedSources::known(std::size_t position) const {
  core::Facts facts = at(position).settings;
  if (sources_.size() == 1) return facts;
  for (const auto& [name, fact] : sources_[universes_[position].source]->common().facts)
    facts.emplace(name, fact);
  facts.insert_or_assign(kInput, core::Fact(static_cast<double>(universes_[position].source)));
  return facts;
}

std::vector<SettingColumn> JoinedSources::columns(const std::vector<std::string>& labels) const {
  std::vector<core::Facts> all;
  std::map<std::string, std::set<std::string>> values;
  for (std::size_t i = 0; i < universes_.size(); ++i) {
    all.push_back(known(i));
    for (const std::string& label : labels) all.back().erase(label);
    // Two values of one universe are a range of its source: a fact on many, and none on this one.
    std::erase_if(all.back(), [](const auto& entry) { return entry.second.is_several(); });
    for (const auto& [name, fact] : all.back()) values[name].insert(fact.text());
  }
  if (sources_.size() > 1) {
    for (core::Facts& facts : all)
      std::erase_if(
          facts, [&](const auto& entry) { return values[entry.first].size() == 1 && entry.first != kInput; });
  }
  std::vector<SettingColumn> columns = columns_of(all);
  for (SettingColumn& column : columns) {
    const bool everywhere =
        std::ranges::all_of(all, [&](const core::Facts& facts) { return facts.contains(column.name); });
    if (everywhere || column.texts.empty()) continue;
    column.texts.emplace_back(kUnknown);
    std::ranges::sort(column.texts);
  }
  return columns;
}

std::vector<double> JoinedSources::settings(std::size_t position,
                                            const std::vector<SettingColumn>& columns) const {
  const core::Facts facts = known(position);
  std::vector<double> values;
  for (const SettingColumn& column : columns) {
    const auto fact = facts.find(column.name);
    const bool stated = fact != facts.end() && !fact->second.is_several();
    values.push_back(stated                 ? column.value_of(fact->second)
                     : column.texts.empty() ? std::numeric_limits<double>::quiet_NaN()
                                            : column.value_of(kUnknown));
  }
  return values;
}

std::string JoinedSources::input_id() const {
  std::vector<std::string> ids;
  for (const auto& source : sources_) ids.push_back(source->common().input);
  return fmt::format("{}", fmt::join(ids, ","));
}

core::Json JoinedSources::record() const {
  if (sources_.size() == 1) return nullptr;
  core::Json list = core::Json::array();
  std::size_t position = 0;
  for (const auto& source : sources_) {
    const std::size_t count = source->universes().size();
    list.push_back({{"first", universes_[position].number - source->universes().front().simulation},
                    {"simulations", count},
                    {"parameters", source->common().parameters}});
    position += count;
  }
  return list;
}

}  // namespace cosmo::dataset
