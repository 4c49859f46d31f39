#include "core/format/csv_table.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <functional>
#include <iterator>

#include "core/error.hpp"
#include "core/near_name.hpp"

namespace cosmo::core {

double Cell::number() const {
  const std::size_t comma = text.find(',');
  if (comma == std::string_view::npos || text.find_first_of(".,", comma + 1) != std::string_view::npos)
    return file.number(line, text);
  std::string number(text);
  number[comma] = '.';
  return file.number(line, number);
}

std::uint64_t Cell::whole_number(std::string_view column, std::uint64_t limit) const {
  std::uint64_t number = 0;
  std::string_view digits = text;
  while (digits.ends_with('0') && digits.find('.') != std::string_view::npos) digits.remove_suffix(1);
  if (digits.ends_with('.')) digits.remove_suffix(1);  // 3.0, as pandas writes columns with gaps
  const char* last = digits.data() + digits.size();
  const auto [end, error] = std::from_chars(digits.data(), last, number);
  ensure(error == std::errc() && end == last && number < limit, Fault::format,
         "{} has no {} between 0 and {}: correct the table.", place(), column, limit - 1);
  return number;
}

void ensure_column(const Cell& name, std::string_view called, const std::vector<std::string>& known) {
  constexpr std::size_t kShown = 40;
  if (std::ranges::count(known, called) > 0) return;
  const auto meant = near_name(name.text, known);
  fail(Fault::format, "{} names a column '{}': {}.", name.place(), name.text.substr(0, kShown),
       meant ? "write " + *meant : fmt::format("choose among {}", fmt::join(known, ", ")));
}

bool names_rows(std::string_view name) {
  constexpr std::array<std::string_view, 4> kOfRows = {"", "id", "index", "name"};
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return std::ranges::count(kOfRows, lower) > 0;
}

namespace {

std::string_view unquoted(std::string_view cell) {
  const bool quoted = cell.size() >= 2 && cell.front() == '"' && cell.back() == '"';
  return quoted ? trimmed(cell.substr(1, cell.size() - 2)) : cell;
}

/// The cells of a line; one in quotes may hold the separator. A blank stands for any white space.
std::vector<std::string_view> split(std::string_view line, char separator) {
  std::vector<std::string_view> cells;
  bool quoted = false;
  std::size_t first = 0;
  for (std::size_t i = 0; i <= line.size(); ++i) {
    const std::string_view cell = trimmed(line.substr(first, i - first));
    if (i < line.size() && line[i] == '"') quoted = !quoted && (cell.empty() || cell.front() == '"');
    const bool ends = i == line.size() ||
                      (!quoted && (separator == ' ' ? std::isspace(static_cast<unsigned char>(line[i])) != 0
                                                    : line[i] == separator));
    if (!ends) continue;
    if (separator != ' ' || !cell.empty()) cells.push_back(cell);
    first = i + 1;
  }
  return cells;
}

/// What separates the cells of a line: a comma, a semicolon, a blank for any white space, or nothing in a single cell.
char separator_of(std::string_view line) {
  for (const char separator : {',', ';', ' '}) {
    if (split(line, separator).size() > 1) return separator;
  }
  return '\0';
}

bool is_comment(const TextLine& line) { return line.text.front() == '#'; }

/// Whether a line has numbers, as headers have not.
bool has_numbers(const TextLine& line) {
  return std::ranges::any_of(split(line.text, separator_of(line.text)),
                             [](std::string_view cell) { return number_in(unquoted(cell)).has_value(); });
}

}  // namespace

CsvTable::CsvTable(const std::filesystem::path& path, std::string_view thing) : file_(path) {
  const std::vector<TextLine>& lines = file_.lines();
  const auto first = std::ranges::find_if_not(lines, is_comment);
  std::ranges::copy_if(first, lines.end(), std::back_inserter(rows_), std::not_fn(is_comment));
  if (!rows_.empty() && !has_numbers(rows_.front())) {
    header_ = rows_.front();
    separator_ = separator_of(header_.text);
    rows_.erase(rows_.begin());
  } else if (!rows_.empty()) {
    separator_ = separator_of(rows_.front().text);
    if (first != lines.begin()) {
      const TextLine& comment = *(first - 1);
      header_ = {
          comment.number,
          trimmed(comment.text.substr(std::min(comment.text.find_first_not_of('#'), comment.text.size())))};
    }
    const std::size_t columns = split(rows_.front().text, separator_).size();
    ensure(split(header_.text, separator_of(header_.text)).size() == columns && !header_.text.empty(),
           Fault::format,
           "{} begins with numbers: begin the table with a line of {} names, such as omega_m,sigma8.",
           file_.place(rows_.front()), columns);
  }
  ensure(!rows_.empty(), Fault::format, "{} has no {}: write a header and a line for each.", file_.path(),
         thing);
}

std::vector<Cell> CsvTable::cells_of(const TextLine& line, char separator) const {
  std::vector<Cell> cells;
  for (const std::string_view text : split(line.text, separator))
    cells.push_back({file_, line, unquoted(text)});
  return cells;
}

std::vector<std::string> CsvTable::names(const std::function<std::string(const Cell&)>& name) const {
  std::vector<std::string> names;
  for (const Cell& cell : cells_of(header_, separator_of(header_.text))) {
    ensure(!cell.text.empty() || names.empty(), Fault::format, "{} has a column without a name: give it one.",
           cell.place());
    const std::string called = name(cell);
    ensure(called.empty() || std::ranges::count(names, called) == 0, Fault::format,
           "{} names the column {} twice: keep one.", cell.place(), called);
    names.push_back(called);
  }
  return names;
}

void CsvTable::for_each_row(const std::function<void(const std::vector<Cell>&)>& read) const {
  const std::size_t columns = split(header_.text, separator_of(header_.text)).size();
  for (const TextLine& line : rows_) {
    const std::vector<Cell> cells = cells_of(line, separator_);
    ensure(cells.size() == columns, Fault::format, "{} has {} cells for {} columns: correct the table.",
           file_.place(line), cells.size(), columns);
    read(cells);
  }
}

}  // namespace cosmo::core
