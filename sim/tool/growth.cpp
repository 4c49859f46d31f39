#include "sim/tool/growth.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "core/error.hpp"
#include "core/universe/cosmology.hpp"
#include "sim/tool/suite_plan.hpp"

namespace cosmo::sim {

using core::ensure;
using core::Fault;
using core::Json;

namespace fs = std::filesystem;

namespace {

constexpr const char* kGrown =
    "grown_from";  ///< in the config of a suite whose first universes have narrower ranges

/// The range of a parameter in a config; nothing for another value.
std::optional<std::pair<double, double>> range_in(const Json& value) {
  if (value.is_number()) return std::pair(value.get<double>(), value.get<double>());
  if (value.is_array() && value.size() == 2) return std::pair(value[0].get<double>(), value[1].get<double>());
  return std::nullopt;
}

/// Whether a parameter's range lies in a wider one.
bool is_wider(const std::string& name, const Json& before, const Json& now) {
  if (core::find_cosmology_parameter(name) == nullptr) return false;
  const auto inner = range_in(before), outer = range_in(now);
  return inner && outer && outer->first <= inner->first && inner->second <= outer->second;
}

/// A value of a config for people.
std::string text_of(const Json& value) { return value.is_null() ? "none" : value.dump(); }

/// A phrase on each value of the configs that a larger suite may not change, and as text the ranges that are wider now.
std::pair<std::vector<std::string>, std::string> compare(const Json& before, const Json& now) {
  std::set<std::string> names;
  std::vector<std::string> different;
  std::string widened;
  for (const Json* config : {&before, &now}) {
    for (const auto& [name, value] : config->items()) names.insert(name);
  }
  // Rows are compared one by one.
  const bool tables = before.value("design", Json()).is_object() && now.value("design", Json()).is_object();
  for (const std::string& name : names) {
    const Json old = before.value(name, Json()), value = now.value(name, Json());
    const bool of_rows = name == "design" || core::find_cosmology_parameter(name) != nullptr;
    if (old == value || name == "simulations" || name == kGrown || (tables && of_rows)) continue;
    if (is_wider(name, old, value)) {
      widened +=
          fmt::format("{}{} from {} to {}", widened.empty() ? "" : ", ", name, old.dump(), value.dump());
    } else {
      different.push_back(fmt::format("{} {}, not {}", name, text_of(old), text_of(value)));
    }
  }
  return {different, widened};
}

}  // namespace

std::size_t Growth::linked() const {
  const std::size_t all = suite.simulations.size(), pack = static_cast<std::size_t>(suite.pack);
  return pack > 0 ? all / pack * pack : all;
}

void declare_growth(core::Options& options) {
  options.begin_group("Universes");
  options.add(
      "grow DIR", std::nullopt,
      "link the universes of the finished suite in DIR, which are the first of this one, and make the rest; DIR stays as "
      "it is");
}

Growth read_growth(const core::Options& options, Plan& plan) {
  Growth growth;
  if (!options.given("grow")) return growth;
  growth.directory = options.text("grow");
  growth.suite = core::load_simulation_manifest(growth.directory);
  const std::string from = growth.directory.string();
  ensure(core::seen_from(growth.directory, options.text("output")).begin()->string() == "..", Fault::config,
         "--output {} is --grow {} or in it: give the larger suite a directory of its own.",
         options.text("output"), from);
  const Json& before = growth.suite.base.request.config;
  auto [different, widened] = compare(before, request_of(plan).config);
  ensure(
      different.empty(), Fault::config,
      "{} was made otherwise ({}): a suite grows by its own settings, with more --simulations and perhaps wider ranges.",
      from, fmt::join(different, "; "));
  const std::vector<core::SimulationRecord>& universes = growth.suite.simulations;
  ensure(universes.size() < plan.universes.list.size(), Fault::config,
         "{} has {} universes and this request {}: ask for more --simulations.", from, universes.size(),
         plan.universes.list.size());
  const bool own_ranges = !widened.empty() || before.contains(kGrown);
  for (std::size_t i = 0; i < universes.size(); ++i) {
    ensure(
        own_ranges || universes[i].universe == plan.universes.list[i], Fault::config,
        "Universe {} of {} is another one here: keep the rows that the suite was made from, and add others.",
        i, from);
    plan.universes.list[i] = universes[i].universe;
  }
  if (own_ranges) plan.universes.grown = growth.suite.base.request.id();
  growth.widened = std::move(widened);
  return growth;
}

std::vector<core::FileRecord> link_files(const Growth& growth, const core::OutputDirectory& output,
                                         const core::SimulationRecord& universe) {
  std::vector<core::FileRecord> files;
  for (const std::string& path : universe.files()) {
    const core::FileRecord* record = growth.suite.base.find(path);
    ensure(record != nullptr, Fault::config,
           "{} has no {}: a suite grows by what it saves itself, see --save.", growth.directory.string(),
           path);
    files.push_back(output.link(growth.directory, *record));
  }
  return files;
}

}  // namespace cosmo::sim
