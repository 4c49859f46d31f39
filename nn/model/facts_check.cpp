#include "nn/model/facts_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "core/named.hpp"

namespace cosmo::nn {

namespace {

/// What the universes should be like for this model.
core::Facts expected_of(const ModelManifest& model, const core::Facts& found, Learned learned) {
  core::Facts expected = model.facts;
  const core::ParameterSpace& space = model.parameters;
  for (std::size_t p = 0; p < space.size(); ++p) {
    expected.erase(space.names[p]);
    if (learned == Learned::compared && found.contains(space.names[p]))
      expected.emplace(space.names[p], core::Fact(space.low[p], space.high[p]));
  }
  return expected;
}

/// Whether others are refused by InputSpec.
bool checked_elsewhere(const std::string& name) {
  return name == "redshift" || name == core::kLineOfSightKey;
}

/// "the model's training universes", or those of some models of an ensemble by their directories.
std::string universes_of(const std::set<std::size_t>& models, std::span<const std::string> directories) {
  if (models.size() == directories.size())
    return models.size() == 1 ? "the model's training universes" : "the models' training universes";
  std::vector<std::string> names;
  for (const std::size_t m : models) names.push_back(directories[m]);
  return fmt::format("the training universes of {}", fmt::join(names, ", "));
}

/// A fact that differs from that of some models' training universes.
struct Difference {
  core::Fact found;  ///< its values
  std::set<std::size_t> models, universes;
};

/// What a sentence calls these universes.
std::string source_of(const std::set<std::size_t>& which, std::span<const NamedFacts> universes,
                      const std::string& source) {
  if (which.size() == universes.size()) return source;
  std::vector<std::string> names;
  for (const std::size_t u : which) names.push_back(universes[u].name);
  return core::some_of(names);
}

std::string remark_of(const FactsCheck& check, bool unrecorded, const std::string& source) {
  if (!check.unstated.empty())
    return fmt::format("Not stated by {}: {}. Whether that is as in the training universes was not checked.",
                       source, core::some_of(check.unstated));
  if (!unrecorded) return "";
  return fmt::format(
      "The model records no facts of its training universes, as none of imported data or of an earlier version does: "
      "those of {} were not compared.",
      source);
}

}  // namespace

FactsCheck check_facts(std::span<const ModelManifest> models, std::span<const std::string> directories,
                       std::span<const NamedFacts> universes, const std::string& source, Learned learned) {
  std::map<std::pair<std::string, std::string>, Difference> differences;  // (name, expected)
  std::set<std::string> unknown;
  std::set<std::size_t> silent;  // universes of which something is unknown
  for (std::size_t u = 0; u < universes.size(); ++u) {
    const core::Facts& facts = universes[u].facts;
    for (std::size_t m = 0; m < models.size(); ++m) {
      const core::Facts expected = expected_of(models[m], facts, learned);
      for (const std::string& name : core::differing(facts, expected)) {
        const core::Fact& found = facts.find(name)->second;
        Difference& difference =
            differences.try_emplace({name, expected.find(name)->second.text()}, Difference{found, {}, {}})
                .first->second;
        difference.found.include(found);
        difference.models.insert(m);
        difference.universes.insert(u);
      }
      for (const std::string& name : core::unstated(facts, expected)) {
        if (checked_elsewhere(name)) continue;
        unknown.insert(name);
        silent.insert(u);
      }
    }
  }
  FactsCheck check{{}, {unknown.begin(), unknown.end()}, {}};
  for (const auto& [which, difference] : differences) {
    const auto& [name, expected] = which;
    if (checked_elsewhere(name)) continue;
    check.warnings.push_back(fmt::format(
        "{} is {} in {} and {} in {}: the predictions may be further off than their errors state.", name,
        difference.found.text(), source_of(difference.universes, universes, source), expected,
        universes_of(difference.models, directories)));
  }
  const bool recorded = std::ranges::any_of(models, [](const auto& model) { return !model.facts.empty(); });
  const bool known =
      std::ranges::any_of(universes, [](const auto& universe) { return !universe.facts.empty(); });
  check.remark =
      remark_of(check, known && !recorded, silent.empty() ? source : source_of(silent, universes, source));
  return check;
}

}  // namespace cosmo::nn
