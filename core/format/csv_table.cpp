#include "core/format/csv_table.hpp"

#include <algorithm>
#include <charconv>

#include "core/error.hpp"
#include "core/near_name.hpp"

namespace cosmo::core {

std::uint64_t Cell::whole_number(std::string_view column, std::uint64_t limit) const {
  std::uint64_t number = 0;
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number);
  ensure(error == std::errc() && end == last && number < limit, Fault::format,
         "{} has no {} between 0 and {}: correct the table.", place(), column, limit - 1);
  return number;
}

void ensure_column(const Cell& name, const std::vector<std::string>& known) {
  constexpr std::size_t kShown = 40;
  if (std::ranges::count(known, name.text) > 0) return;
  const auto meant = near_name(name.text, known);
  fail(Fault::format, "{} names a column '{}': {}.", name.place(), name.text.substr(0, kShown),
       meant ? "write " + *meant : fmt::format("choose among {}", fmt::join(known, ", ")));
}

CsvTable::CsvTable(const std::filesystem::path& path, std::string_view thing)
    : file_(path), lines_(file_.lines()) {
  std::erase_if(lines_, [](const TextLine& line) { return line.text.front() == '#'; });
  ensure(lines_.size() >= 2, Fault::format, "{} has no {}: write a header and a line for each.", file_.path(),
         thing);
}

std::vector<Cell> CsvTable::cells_of(const TextLine& line) const {
  std::vector<Cell> cells;
  for (const std::string_view text : core::cells_of(line.text, ',')) cells.push_back({file_, line, text});
  return cells;
}

std::vector<std::string> CsvTable::names(const std::function<void(const Cell&)>& check) const {
  std::vector<std::string> names;
  for (const Cell& cell : cells_of(lines_.front())) {
    check(cell);
    ensure(std::ranges::count(names, cell.text) == 0, Fault::format,
           "{} names the column {} twice: keep one.", cell.place(), cell.text);
    names.emplace_back(cell.text);
  }
  return names;
}

void CsvTable::for_each_row(const std::function<void(const std::vector<Cell>&)>& read) const {
  const std::size_t columns = cells_of(lines_.front()).size();
  for (auto line = lines_.begin() + 1; line != lines_.end(); ++line) {
    const std::vector<Cell> cells = cells_of(*line);
    ensure(cells.size() == columns, Fault::format, "{} has {} cells for {} columns: correct the table.",
           file_.place(*line), cells.size(), columns);
    read(cells);
  }
}

}  // namespace cosmo::core
