#include "core/universe/universe_table.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <limits>
#include <string_view>

#include "core/error.hpp"
#include "core/format/csv_table.hpp"
#include "core/random.hpp"

namespace cosmo::core {

namespace {

constexpr std::string_view kSetting = "setting_";

/// The columns but those of settings.
std::vector<std::string> columns() {
  std::vector<std::string> names = {"index", "seed"};
  for (const CosmologyParameter& row : kCosmologyParameters) names.emplace_back(row.name);
  return names;
}

Fact setting_in(const Cell& cell) {
  double number = 0;
  const char* last = cell.text.data() + cell.text.size();
  const auto [end, error] = std::from_chars(cell.text.data(), last, number);
  if (error == std::errc() && end == last) return number;
  std::string text(cell.text);
  std::ranges::replace(text, ';', ',');
  return text;
}

std::string text_of(const Fact& setting) {
  if (const auto number = setting.number()) return fmt::format("{}", *number);
  std::string text = setting.text();
  std::ranges::replace(text, ',', ';');
  return text;
}

}  // namespace

std::string universe_table(const std::vector<SimulationRecord>& universes) {
  std::string text = fmt::format("{}", fmt::join(columns(), ","));
  if (!universes.empty()) {
    for (const auto& [name, fact] : universes.front().settings) text += fmt::format(",{}{}", kSetting, name);
  }
  text += "\n";
  const auto to = std::back_inserter(text);
  for (const SimulationRecord& universe : universes) {
    fmt::format_to(to, "{},{}", universe.index, universe.universe.seed);
    for (const CosmologyParameter& row : kCosmologyParameters)
      fmt::format_to(to, ",{}", universe.universe.cosmology.*row.member);
    for (const auto& [name, fact] : universe.settings) fmt::format_to(to, ",{}", text_of(fact));
    text += "\n";
  }
  return text;
}

std::vector<SimulationRecord> read_universe_table(const std::filesystem::path& path) {
  const CsvTable table(path, "universe");
  const std::vector<std::string> known = columns();
  const std::vector<std::string> names = table.names([&](const Cell& cell) {
    if (!cell.text.starts_with(kSetting)) ensure_column(cell, cell.text, known);
    return std::string(cell.text);
  });
  ensure(names.size() >= known.size() && std::equal(known.begin(), known.end(), names.begin()), Fault::format,
         "{} has other columns than {}: restore the table.", table.header_place(), fmt::join(known, ", "));
  std::vector<SimulationRecord> universes;
  table.for_each_row([&](const std::vector<Cell>& cells) {
    constexpr auto kMost = std::numeric_limits<std::uint32_t>::max();
    SimulationRecord& universe = universes.emplace_back();
    universe.index = static_cast<std::uint32_t>(cells[0].whole_number("index", kMost));
    ensure(universe.index + 1 == universes.size(), Fault::format,
           "{} has index {} where {} follows: restore the table.", cells[0].place(), universe.index,
           universes.size() - 1);
    universe.universe.seed = cells[1].whole_number("seed", kSeedLimit);
    std::size_t column = 2;
    for (const CosmologyParameter& row : kCosmologyParameters)
      universe.universe.cosmology.*row.member = cells[column++].number();
    for (; column < cells.size(); ++column)
      universe.settings.emplace(names[column].substr(kSetting.size()), setting_in(cells[column]));
  });
  return universes;
}

}  // namespace cosmo::core
