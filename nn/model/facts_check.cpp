#include "nn/model/facts_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

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

/// "the model's training universes", or those of some models of an ensemble by their directories.
std::string universes_of(const std::set<std::size_t>& models, std::span<const std::string> directories) {
  if (models.size() == directories.size())
    return models.size() == 1 ? "the model's training universes" : "the models' training universes";
  std::vector<std::string> names;
  for (const std::size_t m : models) names.push_back(directories[m]);
  return fmt::format("the training universes of {}", fmt::join(names, ", "));
}

std::string remark_of(const FactsCheck& check, bool unrecorded, const std::string& source) {
  if (!check.unstated.empty())
    return fmt::format(
        "{} does not state {}: whether they are those of the training universes was not checked.", source,
        fmt::join(check.unstated, ", "));
  if (!unrecorded) return "";
  return fmt::format(
      "The model records no facts of its training universes, being of an earlier version or of data without "
      "them: those of {} were not compared.",
      source);
}

}  // namespace

FactsCheck check_facts(std::span<const ModelManifest> models, std::span<const std::string> directories,
                       std::span<const core::Facts> universes, const std::string& source, Learned learned) {
  std::map<std::pair<std::string, std::string>, std::set<std::size_t>>
      differing;      // (name, expected) -> models
  core::Facts found;  // those that differ
  std::set<std::string> unknown;
  for (const core::Facts& universe : universes) {
    for (std::size_t m = 0; m < models.size(); ++m) {
      const core::Facts expected = expected_of(models[m], universe, learned);
      for (const std::string& name : core::differing(universe, expected)) {
        differing[{name, expected.find(name)->second.text()}].insert(m);
        found.emplace(name, universe.find(name)->second).first->second.include(universe.find(name)->second);
      }
      for (const std::string& name : core::unstated(universe, expected)) unknown.insert(name);
    }
  }
  FactsCheck check{{}, {unknown.begin(), unknown.end()}, {}};
  for (const auto& [difference, by] : differing) {
    const auto& [name, expected] = difference;
    if (name == "redshift" || name == core::kLineOfSightKey) continue;
    check.warnings.push_back(fmt::format(
        "{} is {} in {} and {} in {}: the predictions may be further off than their errors state.", name,
        found.find(name)->second.text(), source, expected, universes_of(by, directories)));
  }
  const bool recorded = std::ranges::any_of(models, [](const auto& model) { return !model.facts.empty(); });
  const bool known = std::ranges::any_of(universes, [](const auto& facts) { return !facts.empty(); });
  check.remark = remark_of(check, known && !recorded, source);
  return check;
}

}  // namespace cosmo::nn
