#include "infer/compare/flat_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace cosmo::infer {

using core::Json;

namespace {

constexpr const char* kNetwork = "network";

bool is_named_list(const Json& value) {
  return value.is_array() && !value.empty() && std::ranges::all_of(value, [](const Json& element) {
           return element.is_object() && element.contains("name") && element["name"].is_string();
         });
}

bool all_equal(const std::vector<Json>& values) {
  return std::ranges::all_of(values, [&](const Json& value) { return value == values.front(); });
}

}  // namespace

void flatten(const std::string& prefix, const Json& value, Json& flat) {
  const auto below = [&](const std::string& key) { return prefix.empty() ? key : prefix + "." + key; };
  if (value.is_object()) {
    for (const auto& [key, inner] : value.items()) flatten(below(key), inner, flat);
  } else if (is_named_list(value)) {
    for (const Json& element : value) {
      Json unnamed = element;
      unnamed.erase("name");
      flatten(below(element["name"]), unnamed, flat);
    }
  } else {
    flat[prefix] = value;
  }
}

std::vector<DifferingSetting> differing_settings(std::span<const ComparedRun> runs) {
  std::set<std::string> names;
  for (const ComparedRun& run : runs) {
    for (const auto& [name, value] : run.settings.items()) names.insert(name);
  }
  const std::string layers = fmt::format("{}.", kNetwork);
  std::vector<DifferingSetting> differing;
  bool other_networks = false;
  for (const std::string& name : names) {
    DifferingSetting setting{name, {}};
    for (const ComparedRun& run : runs)
      setting.values.push_back(run.settings.contains(name) ? run.settings[name] : Json());
    if (all_equal(setting.values)) continue;
    other_networks = other_networks || name == kNetwork;
    differing.push_back(std::move(setting));
  }
  if (other_networks)
    std::erase_if(differing,
                  [&](const DifferingSetting& setting) { return setting.name.starts_with(layers); });
  return differing;
}

std::string setting_text(const Json& value) {
  if (value.is_null()) return "-";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "on" : "off";
  if (value.is_number_float()) return fmt::format("{:.7g}", value.get<double>());
  return value.dump();
}

}  // namespace cosmo::infer
