#include "histogram/snapshot/snapshot_table.hpp"

#include <algorithm>
#include <limits>

#include "core/error.hpp"
#include "core/file/file_kind.hpp"
#include "core/format/csv_table.hpp"
#include "core/near_name.hpp"
#include "core/random.hpp"
#include "core/universe/cosmology.hpp"
#include "core/universe/cosmology_words.hpp"

namespace cosmo::histogram {

using core::ensure;
using core::Fault;

namespace {

/// The name here of a column.
std::string column_called(std::string_view word) {
  const std::string simplified = core::simplified_name(word);
  if (simplified == "z") return "redshift";
  if (simplified == "boxsize" || simplified == "lbox") return "box";
  return core::parameter_called(word);
}

/// The header's names; empty for columns that are not used, and those but for names of rows in `unused`.
std::vector<std::string> names_of(const core::CsvTable& table, std::vector<std::string>& unused) {
  std::vector<std::string> known = {"snapshot", "simulation", "seed", "redshift", "box"};
  for (const auto& row : core::kCosmologyParameters) known.emplace_back(row.name);
  std::vector<core::Cell> others;
  const std::vector<std::string> names = table.names([&](const core::Cell& cell) {
    const std::string name = column_called(cell.text);
    if (std::ranges::count(known, name) > 0) return name;
    if (!core::other_form(cell.text) && core::near_name(cell.text, known))
      core::ensure_column(cell, name, known);
    if (!core::names_rows(cell.text)) others.push_back(cell);
    return std::string();
  });
  for (const core::Cell& cell : others) {
    const auto form = core::other_form(cell.text);
    if (form && std::ranges::count(names, form->parameter) == 0) core::refuse_other_form(cell);
    unused.emplace_back(cell.text);
  }
  ensure(std::ranges::count(names, "snapshot") == 1, Fault::format,
         "{} has no column 'snapshot': add it, with paths relative to the table.", table.header_place());
  return names;
}

}  // namespace

bool is_snapshot_table(const std::filesystem::path& path) {
  const std::filesystem::path extension = path.extension();
  if (extension == ".csv" || extension == ".hdf5" || extension == ".h5") return extension == ".csv";
  return std::filesystem::is_regular_file(path) && core::kind_of_file(path) == core::kText;
}

SnapshotTable read_snapshot_table(const std::filesystem::path& path) {
  constexpr std::uint64_t kMostSimulations = std::uint64_t{std::numeric_limits<std::uint32_t>::max()} + 1;
  const core::CsvTable table(path, "snapshot");
  SnapshotTable found;
  std::vector<SnapshotRow>& rows = found.rows;
  const std::vector<std::string> names = names_of(table, found.unused);
  table.for_each_row([&](const std::vector<core::Cell>& cells) {
    SnapshotRow row{{}, static_cast<std::uint32_t>(rows.size()), {}, {}, {}, {}, cells.front().place()};
    for (std::size_t c = 0; c < cells.size(); ++c) {
      if (names[c] == "snapshot") {
        ensure(!cells[c].text.empty(), Fault::format, "{} names no snapshot: correct the table.", row.place);
        row.snapshot = path.parent_path() / cells[c].text;
      } else if (names[c] == "simulation") {
        row.simulation = static_cast<std::uint32_t>(cells[c].whole_number(names[c], kMostSimulations));
      } else if (names[c] == "seed") {
        row.seed = cells[c].whole_number(names[c], core::kSeedLimit);
      } else if (names[c] == "redshift") {
        row.redshift = cells[c].number();
      } else if (names[c] == "box") {
        row.box_size = cells[c].number();
      } else if (!names[c].empty()) {
        row.parameters[names[c]] = cells[c].number();
      }
    }
    rows.push_back(std::move(row));
  });
  return found;
}

}  // namespace cosmo::histogram
