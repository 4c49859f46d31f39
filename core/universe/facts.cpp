#include "core/universe/facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/error.hpp"
#include "core/named.hpp"
#include "core/output/manifest.hpp"

namespace cosmo::core {

namespace {

constexpr double kFactRounding = 1e-3;  ///< relative difference of numbers that are taken for equal

}  // namespace

bool Fact::include(const Fact& others) {
  if (values_.index() != others.values_.index()) return false;
  if (auto* range = std::get_if<Range>(&values_)) {
    const Range& more = std::get<Range>(others.values_);
    *range = {std::min(range->low, more.low), std::max(range->high, more.high)};
  } else {
    const auto& texts = std::get<std::set<std::string>>(others.values_);
    std::get<std::set<std::string>>(values_).insert(texts.begin(), texts.end());
  }
  return true;
}

bool Fact::covers(const Fact& others) const {
  if (values_.index() != others.values_.index()) return false;
  if (const auto* range = std::get_if<Range>(&values_)) {
    const Range& found = std::get<Range>(others.values_);
    const auto margin = [](double a, double b) { return kFactRounding * std::max(std::abs(a), std::abs(b)); };
    return found.low >= range->low - margin(found.low, range->low) &&
           found.high <= range->high + margin(found.high, range->high);
  }
  return std::ranges::includes(std::get<std::set<std::string>>(values_),
                               std::get<std::set<std::string>>(others.values_));
}

bool Fact::is_several() const {
  if (const auto* range = std::get_if<Range>(&values_)) return range->low != range->high;
  return std::get<std::set<std::string>>(values_).size() > 1;
}

std::optional<double> Fact::number() const {
  const auto* range = std::get_if<Range>(&values_);
  return range != nullptr && range->low == range->high ? std::optional(range->low) : std::nullopt;
}

std::string Fact::text() const {
  if (const auto* range = std::get_if<Range>(&values_)) {
    return range->low == range->high ? fmt::format("{:.9g}", range->low)
                                     : fmt::format("{:.9g} to {:.9g}", range->low, range->high);
  }
  const auto& texts = std::get<std::set<std::string>>(values_);
  return alternatives({texts.begin(), texts.end()});
}

Json Fact::to_json() const {
  if (const auto* range = std::get_if<Range>(&values_))
    return range->low == range->high ? Json(range->low) : Json{range->low, range->high};
  const auto& texts = std::get<std::set<std::string>>(values_);
  return texts.size() == 1 ? Json(*texts.begin()) : Json(texts);
}

Fact Fact::parse(const Json& json, std::string_view name, const std::string& source) {
  const Json values = json.is_array() ? json : Json::array({json});
  const auto all = [&](auto is) { return !values.empty() && std::all_of(values.begin(), values.end(), is); };
  if (all([](const Json& value) { return value.is_string(); }))
    return Fact(values.get<std::set<std::string>>());
  ensure(all([](const Json& value) { return value.is_number(); }) && values.size() <= 2 &&
             values.front() <= values.back(),
         Fault::format, "{} has {} = {} where a fact is a number, a range or a text: restore the file.",
         source, name, json.dump());
  return {values.front().get<double>(), values.back().get<double>()};
}

void write_facts(Json& json, const Facts& facts) {
  for (const auto& [name, fact] : facts) json[kFactsKey][name] = fact.to_json();
}

Facts read_facts(const Json& details, const std::string& source, const char* key) {
  const Json listed = details.value(key, Json::object());
  ensure(listed.is_object(), Fault::format, "{} has {} that are not an object: restore the file.", source,
         key);
  Facts facts;
  for (const auto& [name, json] : listed.items()) facts.emplace(name, Fact::parse(json, name, source));
  return facts;
}

Facts facts_of(const OutputHeader& header, LengthUnit unit) {
  const Cosmology& cosmology = header.universe.cosmology;
  Facts facts;
  for (const CosmologyParameter& row : kCosmologyParameters)
    facts.insert_or_assign(std::string(row.name), cosmology.*row.member);
  const Length side(header.box_size / Length(1, unit).mpc_h(cosmology.h), unit);
  set_length(facts, "box", side);
  if (header.particles > 0)
    set_length(facts, "particle_spacing", side / std::cbrt(static_cast<double>(header.particles)));
  facts.insert_or_assign("redshift", header.redshift);
  set_line_of_sight(facts, header.line_of_sight);
  return facts;
}

namespace {

/// The settings that the manifest of a suite records of the universe with this file.
Facts settings_in(const Json& manifest, const std::string& file, const std::string& source) {
  const auto records = manifest.find("simulations");
  if (records == manifest.end()) return {};
  const auto record = std::find_if(records->begin(), records->end(), [&](const Json& one) {
    const Json files = one.value("files", Json::array());
    return std::find(files.begin(), files.end(), file) != files.end();
  });
  return record == records->end() ? Facts() : read_facts(*record, source, kSettingsKey);
}

}  // namespace

Facts facts_of_file(const std::filesystem::path& path, Facts stated) {
  for (const Listing& listing : listings_of(path)) {
    const std::string source = (listing.directory / kManifestName).string();
    Facts facts = read_facts(listing.manifest, source);
    if (facts.empty()) continue;
    for (const CosmologyParameter& row : kCosmologyParameters) {
      if (!facts.contains(row.name)) stated.erase(std::string(row.name));
    }
    const Facts own = settings_in(listing.manifest, listing.record.path, source);
    for (const auto& more : {own, stated}) {
      for (const auto& [name, fact] : more) facts.insert_or_assign(name, fact);
    }
    return facts;
  }
  return stated;
}

Facts joined(Facts facts, const Facts& others) {
  Facts both;
  for (auto& [name, fact] : facts) {
    const auto other = others.find(name);
    if (other != others.end() && fact.include(other->second)) both.emplace(name, std::move(fact));
  }
  return both;
}

void set_length(Facts& facts, std::string_view name, const Length& length) {
  facts.insert_or_assign(key_of(name, length.unit), length.value);
}

void set_line_of_sight(Facts& facts, const LineOfSight& axis) {
  facts.insert_or_assign(kLineOfSightKey, axis.empty() ? "none" : axis);
}

std::vector<std::string> differing(const Facts& found, const Facts& expected) {
  std::vector<std::string> names;
  for (const auto& [name, fact] : expected) {
    const auto here = found.find(name);
    if (here != found.end() && !fact.covers(here->second)) names.push_back(name);
  }
  return names;
}

std::vector<std::string> unstated(const Facts& found, const Facts& expected) {
  std::vector<std::string> names;
  for (const auto& [name, fact] : expected) {
    if (!found.contains(name)) names.push_back(name);
  }
  return names;
}

}  // namespace cosmo::core
