#include "nn/filtered_phases.hpp"

#include "core/error.hpp"

namespace cosmo::nn {

using core::ensure;
using core::Fault;

core::Json to_json(const FilteredPhases& filtered) {
  core::Json json = core::Json::object();
  for (const auto& [layer, phases] : filtered) {
    for (const auto& [name, phase] : kPhases) {
      if (phases.contains(phase)) json[layer].push_back(name);
    }
  }
  return json;
}

FilteredPhases parse_filtered_phases(const core::Json& json) {
  ensure(json.is_object() && !json.empty(), Fault::format,
         "Its phases to filter are not an object with a layer or more: restore it, or train again.");
  FilteredPhases filtered;
  for (const auto& [layer, names] : json.items()) {
    for (const std::string& name : names.get<std::vector<std::string>>()) {
      const auto* row = core::find_row(kPhases, name);
      ensure(row != nullptr, Fault::format,
             "Layer '{}' is filtered in phase '{}', which does not exist: restore it, or train again.", layer,
             name);
      filtered[layer].insert(row->value);
    }
  }
  return filtered;
}

}  // namespace cosmo::nn
