#include "dataset/snapshot_table.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

#include "core/cosmology.hpp"
#include "core/error.hpp"
#include "core/random.hpp"
#include "core/text_file.hpp"

namespace cosmo::dataset {

using core::ensure;
using core::Fault;
using core::TextFile;
using core::TextLine;

namespace {

/// The header's names, checked.
std::vector<std::string> read_header(const TextFile& file, const TextLine& line) {
  std::vector<std::string> known = {"snapshot", "simulation", "seed"}, names;
  for (const auto& row : core::kCosmologyParameters) known.emplace_back(row.name);
  for (const std::string_view name : core::cells_of(line.text, ',')) {
    ensure(std::ranges::count(known, name) == 1, Fault::format, "{} names a column '{}': choose among {}.",
           file.place(line), name.substr(0, 40), fmt::join(known, ", "));
    ensure(std::ranges::count(names, name) == 0, Fault::format, "{} names the column {} twice: keep one.",
           file.place(line), name);
    names.emplace_back(name);
  }
  ensure(std::ranges::count(names, "snapshot") == 1, Fault::format,
         "{} has no column 'snapshot': add it, with paths relative to the table.", file.place(line));
  return names;
}

std::uint64_t whole_number(const SnapshotRow& row, std::string_view cell, std::string_view column,
                           std::uint64_t limit) {
  std::uint64_t number = 0;
  const char* last = cell.data() + cell.size();
  const auto [end, error] = std::from_chars(cell.data(), last, number);
  ensure(error == std::errc() && end == last && number < limit, Fault::format,
         "{} has no {} between 0 and {}: correct the table.", row.place, column, limit - 1);
  return number;
}

}  // namespace

std::vector<SnapshotRow> read_snapshot_table(const std::filesystem::path& path) {
  constexpr std::uint64_t kMostSimulations = std::uint64_t{std::numeric_limits<std::uint32_t>::max()} + 1;
  const TextFile file(path);
  std::vector<TextLine> lines = file.lines();
  std::erase_if(lines, [](const TextLine& line) { return line.text.front() == '#'; });
  ensure(lines.size() >= 2, Fault::format, "{} has no snapshot: write a header and a line for each.",
         file.path());
  const std::vector<std::string> names = read_header(file, lines.front());
  std::vector<SnapshotRow> rows;
  for (auto line = lines.begin() + 1; line != lines.end(); ++line) {
    const auto cells = core::cells_of(line->text, ',');
    ensure(cells.size() == names.size(), Fault::format, "{} has {} cells for {} columns: correct the table.",
           file.place(*line), cells.size(), names.size());
    SnapshotRow row{{}, static_cast<std::uint32_t>(rows.size()), {}, {}, file.place(*line)};
    for (std::size_t c = 0; c < cells.size(); ++c) {
      if (names[c] == "snapshot") {
        ensure(!cells[c].empty(), Fault::format, "{} names no snapshot: correct the table.", row.place);
        row.snapshot = path.parent_path() / cells[c];
      } else if (names[c] == "simulation") {
        row.simulation = static_cast<std::uint32_t>(whole_number(row, cells[c], names[c], kMostSimulations));
      } else if (names[c] == "seed") {
        row.seed = whole_number(row, cells[c], names[c], core::kSeedLimit);
      } else {
        row.parameters[names[c]] = file.number(*line, cells[c]);
      }
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace cosmo::dataset
