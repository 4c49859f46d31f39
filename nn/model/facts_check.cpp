#include "nn/model/facts_check.hpp"

#include <fmt/format.h>

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
std::string universes_of(const std::vector<std::size_t>& models, std::span<const std::string> directories) {
  if (models.size() == directories.size())
    return models.size() == 1 ? "the model's training universes" : "the models' training universes";
  std::vector<std::string> names;
  for (const std::size_t m : models) names.push_back(directories[m]);
  return fmt::format("the training universes of {}", fmt::join(names, ", "));
}

std::string remark_of(const FactsCheck& check, bool recorded, const core::Facts& found,
                      const std::string& source) {
  if (!check.unstated.empty())
    return fmt::format(
        "{} does not state {}: whether they are those of the training universes was not checked.", source,
        fmt::join(check.unstated, ", "));
  if (recorded || found.empty()) return "";
  return fmt::format(
      "The model records no facts of its training universes, being of an earlier version or of data without "
      "them: those of {} were not compared.",
      source);
}

}  // namespace

FactsCheck check_facts(std::span<const ModelManifest> models, std::span<const std::string> directories,
                       const core::Facts& found, const std::string& source, Learned learned) {
  std::map<std::pair<std::string, std::string>, std::vector<std::size_t>>
      differing;  // (name, expected) -> models
  std::set<std::string> unknown;
  bool recorded = false;
  for (std::size_t m = 0; m < models.size(); ++m) {
    const core::Facts expected = expected_of(models[m], found, learned);
    for (const std::string& name : core::differing(found, expected))
      differing[{name, expected.find(name)->second.text()}].push_back(m);
    for (const std::string& name : core::unstated(found, expected)) unknown.insert(name);
    recorded = recorded || !models[m].facts.empty();
  }
  FactsCheck check{{}, {unknown.begin(), unknown.end()}, {}};
  for (const auto& [difference, by] : differing) {
    const auto& [name, expected] = difference;
    if (name == "redshift" || name == core::kLineOfSightKey) continue;
    check.warnings.push_back(fmt::format(
        "{} is {} in {} and {} in {}: the predictions may be further off than their errors state.", name,
        found.find(name)->second.text(), source, expected, universes_of(by, directories)));
  }
  check.remark = remark_of(check, recorded, found, source);
  return check;
}

}  // namespace cosmo::nn
