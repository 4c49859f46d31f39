#include "sim/suite/design_table.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "core/error.hpp"
#include "core/file/checksum.hpp"
#include "core/format/csv_table.hpp"
#include "core/named.hpp"
#include "core/random.hpp"
#include "core/universe/cosmology_words.hpp"

namespace cosmo::sim {

namespace {

using core::Cell, core::ensure, core::Fault;

constexpr std::string_view kSeed = "seed";

/// The parameter that the cell names, or the seed; nothing for a name of rows. Throws Error{format} for others.
std::string name_of(const Cell& cell) {
  if (core::names_rows(cell.text)) return "";
  std::vector<std::string> known = core::names_in(core::kCosmologyParameters);
  known.emplace_back(kSeed);
  const std::string name = core::parameter_called(cell.text);
  core::refuse_other_form(cell);
  core::ensure_column(cell, name, known);
  return name;
}

std::uint64_t read_seed(const Cell& cell, std::set<std::uint64_t>& taken, bool share_seeds) {
  const std::uint64_t seed = cell.whole_number(kSeed, core::kSeedLimit);
  ensure(
      taken.insert(seed).second || share_seeds, Fault::format,
      "{} repeats the seed {}: universes of one seed share their phases, give each its own, or --allow-leak "
      "for an experiment with that.",
      cell.place(), seed);
  return seed;
}

core::Cosmology with_row(core::Cosmology cosmology, const DesignTable& table, std::size_t universe) {
  for (std::size_t p = 0; p < table.names.size(); ++p) {
    cosmology.*core::find_cosmology_parameter(table.names[p])->member = table.values[universe][p];
  }
  return cosmology;
}

void check_universe(const Cell& first, const core::Cosmology& cosmology) {
  try {
    core::validate(cosmology);
  } catch (const core::Error& error) {
    throw core::Error(error.fault(), fmt::format("{}: {}", first.place(), error.what()));
  }
}

}  // namespace

void DesignTable::keep(std::size_t size) {
  values.resize(std::min(size, values.size()));
  seeds.resize(std::min(size, seeds.size()));
}

std::string DesignTable::sha256() const {
  return core::sha256(core::Json{{"names", names}, {"values", values}, {"seeds", seeds}}.dump());
}

DesignTable read_design_table(const std::filesystem::path& path, const core::Cosmology& base,
                              bool share_seeds) {
  const core::CsvTable file(path, "universe");
  const std::vector<std::string> header = file.names(&name_of);
  DesignTable table;
  std::ranges::copy_if(header, std::back_inserter(table.names),
                       [](const auto& name) { return name != kSeed && !name.empty(); });
  std::set<std::uint64_t> taken;
  file.for_each_row([&](const std::vector<Cell>& cells) {
    std::vector<double> row;
    for (std::size_t c = 0; c < cells.size(); ++c) {
      if (header[c] == kSeed)
        table.seeds.push_back(read_seed(cells[c], taken, share_seeds));
      else if (!header[c].empty())
        row.push_back(cells[c].number());
    }
    table.values.push_back(std::move(row));
    check_universe(cells.front(), with_row(base, table, table.values.size() - 1));
  });
  return table;
}

std::vector<core::Universe> table_design(const core::Cosmology& base, const DesignTable& table,
                                         std::uint64_t seed) {
  std::vector<core::Universe> universes;
  for (std::size_t i = 0; i < table.values.size(); ++i) {
    const std::uint64_t own =
        table.seeds.empty() ? universe_seed(seed, static_cast<std::uint32_t>(i)) : table.seeds[i];
    universes.push_back({own, with_row(base, table, i)});
  }
  return universes;
}

}  // namespace cosmo::sim
