#include "sim/suite/design_table.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <set>
#include <utility>

#include "core/error.hpp"
#include "core/file/checksum.hpp"
#include "core/file/text_file.hpp"
#include "core/random.hpp"

namespace cosmo::sim {

namespace {

using core::ensure, core::fail, core::Fault, core::TextFile, core::TextLine;

constexpr std::string_view kSeed = "seed";

/// The header's names, checked.
std::vector<std::string> read_header(const TextFile& file, const TextLine& line) {
  std::vector<std::string> names;
  for (const std::string_view name : core::cells_of(line.text, ',')) {
    constexpr std::size_t kShown = 40;
    if (name != kSeed && core::find_cosmology_parameter(name) == nullptr) {
      std::vector<std::string_view> known;
      for (const auto& row : core::kCosmologyParameters) known.push_back(row.name);
      fail(Fault::format, "{} names a column '{}': choose among {} and seed.", file.place(line),
           name.substr(0, kShown), fmt::join(known, ", "));
    }
    ensure(std::ranges::count(names, name) == 0, Fault::format, "{} names the column {} twice: keep one.",
           file.place(line), name);
    names.emplace_back(name);
  }
  return names;
}

std::uint64_t read_seed(const TextFile& file, const TextLine& line, std::string_view cell,
                        std::set<std::uint64_t>& taken, bool share_seeds) {
  std::uint64_t seed = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), seed);
  ensure(error == std::errc() && end == cell.data() + cell.size() && seed < core::kSeedLimit, Fault::format,
         "{} has no seed between 0 and 2^53 - 1: correct the file.", file.place(line));
  ensure(
      taken.insert(seed).second || share_seeds, Fault::format,
      "{} repeats the seed {}: universes of one seed share their phases, give each its own, or --allow-leak "
      "for an experiment with that.",
      file.place(line), seed);
  return seed;
}

core::Cosmology with_row(core::Cosmology cosmology, const DesignTable& table, std::size_t universe) {
  for (std::size_t p = 0; p < table.names.size(); ++p) {
    cosmology.*core::find_cosmology_parameter(table.names[p])->member = table.values[universe][p];
  }
  return cosmology;
}

void check_universe(const TextFile& file, const TextLine& line, const core::Cosmology& cosmology) {
  try {
    core::validate(cosmology);
  } catch (const core::Error& error) {
    throw core::Error(error.fault(), fmt::format("{}: {}", file.place(line), error.what()));
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
  const TextFile file(path);
  std::vector<TextLine> lines = file.lines();
  std::erase_if(lines, [](const TextLine& line) { return line.text.front() == '#'; });
  ensure(lines.size() >= 2, Fault::format,
         "{} has no universe: write a header of parameter names and a row for each universe.", file.path());
  const std::vector<std::string> header = read_header(file, lines.front());
  DesignTable table;
  std::ranges::copy_if(header, std::back_inserter(table.names),
                       [](const auto& name) { return name != kSeed; });
  std::set<std::uint64_t> taken;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const auto cells = core::cells_of(lines[i].text, ',');
    ensure(cells.size() == header.size(), Fault::format, "{} has {} cells for {} columns: correct the file.",
           file.place(lines[i]), cells.size(), header.size());
    std::vector<double> row;
    for (std::size_t c = 0; c < cells.size(); ++c) {
      if (header[c] == kSeed) {
        table.seeds.push_back(read_seed(file, lines[i], cells[c], taken, share_seeds));
      } else {
        row.push_back(file.number(lines[i], cells[c]));
      }
    }
    table.values.push_back(std::move(row));
    check_universe(file, lines[i], with_row(base, table, i - 1));
  }
  return table;
}

std::vector<VaryingParameter> varying_in(const DesignTable& table) {
  std::vector<VaryingParameter> varying;
  for (const core::CosmologyParameter& row : core::kCosmologyParameters) {
    const auto found = std::ranges::find(table.names, row.name);
    if (found == table.names.end()) continue;
    const auto column = static_cast<std::size_t>(found - table.names.begin());
    const auto [low, high] = std::ranges::minmax(
        table.values, {}, [column](const std::vector<double>& universe) { return universe[column]; });
    if (low[column] < high[column]) varying.push_back({*found, low[column], high[column]});
  }
  return varying;
}

std::vector<DesignPoint> table_design(const core::Cosmology& base, const DesignTable& table,
                                      std::uint64_t seed) {
  std::vector<DesignPoint> points;
  for (std::size_t i = 0; i < table.values.size(); ++i) {
    const std::uint64_t own =
        table.seeds.empty() ? universe_seed(seed, static_cast<std::uint32_t>(i)) : table.seeds[i];
    points.push_back({with_row(base, table, i), own});
  }
  return points;
}

}  // namespace cosmo::sim
