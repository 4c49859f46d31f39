#include "dataset/shard/setting_column.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/error.hpp"

namespace cosmo::dataset {

using core::ensure;
using core::Fault;

namespace {

constexpr const char* kDataset = "settings";
constexpr const char* kNames = "settings/names";

std::string texts_attribute(const SettingColumn& column) {
  return fmt::format("{}/{}", kDataset, column.name);
}

}  // namespace

double SettingColumn::value_of(const core::Fact& fact) const {
  if (texts.empty()) {
    const auto number = fact.number();
    ensure(number.has_value(), Fault::internal, "The setting {} is {}, which is not one number.", name,
           fact.text());
    return *number;
  }
  const auto found = std::ranges::find(texts, fact.text());
  ensure(found != texts.end(), Fault::internal, "The setting {} is {}, which its column lacks.", name,
         fact.text());
  return static_cast<double>(found - texts.begin());
}

core::Fact SettingColumn::fact_of(double value) const {
  return texts.empty() ? core::Fact(value) : core::Fact(texts.at(static_cast<std::size_t>(value)));
}

bool SettingColumn::holds(double value) const {
  if (texts.empty()) return !std::isinf(value);
  return value >= 0 && value < static_cast<double>(texts.size()) && value == std::floor(value);
}

std::vector<SettingColumn> columns_of(std::span<const core::Facts> settings) {
  std::map<std::string, std::set<std::string>> texts;
  std::set<std::string> with_text;
  for (const core::Facts& own : settings) {
    for (const auto& [name, fact] : own) {
      texts[name].insert(fact.text());
      if (!fact.number()) with_text.insert(name);
    }
  }
  std::vector<SettingColumn> columns;
  for (const auto& [name, values] : texts) {
    SettingColumn& column = columns.emplace_back(name);
    if (with_text.contains(name)) column.texts.assign(values.begin(), values.end());
  }
  return columns;
}

void to_json(core::Json& json, const SettingColumn& column) {
  json = {{"name", column.name}};
  if (!column.texts.empty()) json["texts"] = column.texts;
}

void from_json(const core::Json& json, SettingColumn& column) {
  column = {json.at("name"), json.value("texts", std::vector<std::string>())};
}

void write_settings(core::hdf5::File& file, const std::vector<SettingColumn>& columns,
                    const std::vector<double>& values) {
  file.write(kDataset, {values.size() / columns.size(), columns.size()}, std::span<const double>(values));
  std::vector<std::string> names;
  for (const SettingColumn& column : columns) names.push_back(column.name);
  file.set_attribute(kNames, names);
  for (const SettingColumn& column : columns) {
    if (!column.texts.empty()) file.set_attribute(texts_attribute(column), column.texts);
  }
}

std::vector<double> read_settings(const core::hdf5::File& file, const std::vector<SettingColumn>& columns,
                                  std::size_t samples, const std::string& path) {
  std::vector<double> values = file.read<double>(kDataset, {samples, columns.size()});
  std::vector<std::string> names;
  bool same_texts = true;
  for (const SettingColumn& column : columns) {
    names.push_back(column.name);
    if (!column.texts.empty())
      same_texts = same_texts && file.texts_attribute(texts_attribute(column)) == column.texts;
  }
  ensure(file.texts_attribute(kNames) == names && same_texts, Fault::format,
         "{} has other settings than its manifest: it belongs to another dataset, restore it.", path);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const SettingColumn& column = columns[i % columns.size()];
    ensure(column.holds(values[i]), Fault::format, "{} sample {} has a setting {} of {}: restore the file.",
           path, i / columns.size(), column.name, values[i]);
  }
  return values;
}

}  // namespace cosmo::dataset
