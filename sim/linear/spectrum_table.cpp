#include "sim/linear/spectrum_table.hpp"

#include <algorithm>
#include <array>
#include <boost/math/interpolators/barycentric_rational.hpp>
#include <boost/math/interpolators/cardinal_quintic_b_spline.hpp>
#include <cmath>
#include <numbers>
#include <optional>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/file/checksum.hpp"
#include "core/file/text_file.hpp"
#include "sim/linear/linear_power.hpp"

namespace cosmo::sim {

namespace {

using core::ensure, core::fail, core::Fault, core::TextFile, core::TextLine;
using Kind = SpectrumTable::Kind;

constexpr std::size_t kFewestRows = 20, kMostRows = 100'000;  // each row costs about 8192 operations

/// The column to read and what it holds.
struct TableColumn {
  Kind kind;
  std::size_t index;
  bool by_k2;  ///< whether to divide it by k²
  std::string name;
};

/// Names of columns that hold the matter transfer function, best first.
struct MatterColumn {
  std::string_view name;
  bool by_k2;
};
constexpr std::array<MatterColumn, 4> kMatterColumns = {
    {{"d_m", true}, {"d_tot", true}, {"-T_tot/k2", false}, {"total", false}}};
constexpr std::size_t kCambColumns = 7, kCambTotal = 6;

bool is_comment(const TextLine& line) { return line.text.front() == '#'; }

/// TableColumn names in "#  1:k (h/Mpc)  2:d_g …" or "# k/h CDM … total", without units in brackets.
std::vector<std::string> column_names(std::string_view title) {
  std::vector<std::string> names;
  title.remove_prefix(std::min(title.find_first_not_of('#'), title.size()));
  for (const std::string_view word : core::words_of(title)) {
    if (word.front() == '(' || word.front() == '[') continue;
    const std::size_t colon = word.find(':');
    const bool numbered = colon != std::string_view::npos &&
                          word.substr(0, colon).find_first_not_of("0123456789") == std::string_view::npos;
    names.emplace_back(numbered ? word.substr(colon + 1) : word);
  }
  return names;
}

/// The comment without markup, and without quantities that are not the unit of a column: "h Mpc^-1" of
/// "$h\,\mathrm{Mpc}^{-1}$", and nothing of "67.4 km/s/Mpc" or "k_pivot = 0.05 1/Mpc".
std::string plain_text(const TextLine& comment) {
  constexpr std::array<std::pair<const char*, const char*>, 10> kRewritten = {{
      {R"(\\(mathrm|rm|text|mathit)\b)", " "},
      {R"(\\[,;:! ])", " "},
      {R"([$\\{}])", ""},
      {"⁻", "-"},
      {"¹", "1"},
      {"³", "3"},
      {R"(\blittleh)", "h"},
      {R"(\bcMpc)", "Mpc"},
      {R"(km\s*[/*]?\s*s(\^?-1)?\s*[/*]?\s*Mpc(\^?-1)?)", ""},
      {R"(=\s*[-+.\d]+(e[-+]?\d+)?\s*[/*]?\s*(1\s*/\s*)?(h\s*[/*]?\s*)?Mpc\S*)", ""},
  }};
  std::string text(comment.text.substr(0, 1000));  // std::regex recurses
  for (const auto& [from, to] : kRewritten) text = std::regex_replace(text, std::regex(from), to);
  return text;
}

/// Throws Error{format} if the comment mentions Mpc without h.
void check_units(const TextFile& file, const TextLine& comment) {
  const std::regex with_h(
      R"(\bh(\^?-?[13])?\s*[/*.]?\s*Mpc|Mpc(\^?-?[13]|\*\*-?[13])?\s*[/*.]?\s*h(\b|[-\d]))");
  ensure(
      std::regex_replace(plain_text(comment), with_h, "").find("Mpc") == std::string::npos, Fault::format,
      "{} gives k in 1/Mpc or P in Mpc^3: give --transfer-units 1/Mpc, or a table with k in h/Mpc and P in (Mpc/h)^3.",
      file.place(comment));
}

/// Throws Error{format} if the comment states a redshift other than 0, as in "at redshift z=1.00000", but not that of an epoch.
void check_redshift(const TextFile& file, const TextLine& comment) {
  const std::regex epoch(R"(re-?ioni|recombination|decoupling|drag|equality|last scattering)",
                         std::regex::icase);
  // In "1:z 2:P" the number before a colon counts columns.
  const std::regex statement(
      R"(\b(?:redshift|z)\b(?:\s*[=:]\s*|\s+(?!\d+:))([-+]?(\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?))",
      std::regex::icase);
  const std::string beginning(comment.text.substr(0, 1000));  // std::regex recurses
  if (std::regex_search(beginning, epoch)) return;
  for (std::sregex_iterator found(beginning.begin(), beginning.end(), statement), end; found != end;
       ++found) {
    ensure(found->str(2).find_first_of("123456789") == std::string::npos, Fault::format,
           "{} states the redshift {}: give the table of z = 0, cosmo-sim computes the growth.",
           file.place(comment), found->str(1));
  }
}

std::optional<TableColumn> named_column(const std::vector<std::string>& names) {
  for (const MatterColumn& matter : kMatterColumns) {
    const auto found = std::find(names.begin(), names.end(), matter.name);
    if (found == names.end()) continue;
    const auto index = static_cast<std::size_t>(found - names.begin());
    return TableColumn{Kind::transfer, index, matter.by_k2,
                       fmt::format("T(k) from column {}, {}", index + 1, matter.name)};
  }
  return std::nullopt;
}

/// The cells of a row, between blanks, semicolons or commas, without quotes around them or brackets around the row.
std::vector<std::string_view> cells_in(std::string_view line) {
  while (!line.empty() && (line.front() == '[' || line.front() == ' ')) line.remove_prefix(1);
  while (!line.empty() && (line.back() == ']' || line.back() == ' ')) line.remove_suffix(1);
  const std::size_t separator = line.find_first_of(",;");
  auto cells =
      separator == std::string_view::npos ? core::words_of(line) : core::cells_of(line, line[separator]);
  if (cells.empty()) cells.push_back(line);
  for (std::string_view& cell : cells)
    if (cell.size() > 1 && cell.front() == '"' && cell.back() == '"') cell = cell.substr(1, cell.size() - 2);
  return cells;
}

/// Decides what the file is from its comments and the number of columns in its first row.
TableColumn find_column(const TextFile& file, const std::vector<TextLine>& comments, std::size_t columns,
                        bool stated) {
  for (const TextLine& comment : comments) check_redshift(file, comment);
  if (columns == 2) {
    for (const TextLine& comment : comments)
      if (!stated) check_units(file, comment);
    return {Kind::power, 1, false, "P(k)"};
  }
  if (!comments.empty()) {
    // Other lines of CLASS's comment mention 1/Mpc without referring to the columns.
    if (!stated) check_units(file, comments.back());
    const auto names = column_names(comments.back().text);
    const auto column = named_column(names);
    ensure(column && names.size() == columns, Fault::format,
           "{} does not name {} columns with one called d_m, d_tot, -T_tot/k2 or total: give two columns k, "
           "P, or a transfer table as CLASS or CAMB wrote it.",
           file.place(comments.back()), columns);
    return *column;
  }
  ensure(columns >= kCambColumns, Fault::format,
         "{} has {} columns and no header: give two columns k, P, or seven and more as CAMB's transfer_out.",
         file.path(), columns);
  return {Kind::transfer, kCambTotal, false, "T(k) from column 7, as CAMB's transfer_out has no header"};
}

struct Rows {
  std::vector<double> ln_k, ln_value;
};

void append_row(const TextFile& file, const TextLine& line, const TableColumn& column, std::size_t columns,
                std::optional<double> stated_h, Rows& rows, double& sign) {
  const auto cells = cells_in(line.text);
  ensure(cells.size() == columns, Fault::format, "{} has {} columns and the first row {}: correct the file.",
         file.place(line), cells.size(), columns);
  const double h = stated_h.value_or(1), k = file.number(line, cells[0]) / h;
  ensure(k > 0 && (rows.ln_k.empty() || std::log(k) > rows.ln_k.back()), Fault::format,
         "{} has k = {}: k must be positive, not its logarithm, and increase from row to row.",
         file.place(line), k);
  double value = file.number(line, cells[column.index]);
  if (column.kind == Kind::transfer && sign == 0) sign = value < 0 ? -1 : 1;
  if (column.kind == Kind::transfer) value *= sign;
  ensure(value > 0, Fault::format, "{} has the value {}: {}.", file.place(line), cells[column.index],
         column.kind == Kind::power ? "P(k) must be positive" : "T(k) may not vanish or change its sign");
  rows.ln_k.push_back(std::log(k));
  rows.ln_value.push_back(std::log(value) + (column.kind == Kind::power ? 3 * std::log(h) : 0) -
                          (column.by_k2 ? 2 * std::log(k) : 0));
}

/// Interpolates the rows to a fine uniform grid by Floater and Hormann's rational interpolation, each
/// evaluation of which costs a pass over the rows, and then by a spline, whose evaluations are cheap. 2000
/// rows of an Eisenstein-Hu spectrum over 1e-4 … 20 h/Mpc are reproduced to 1e-8 rms; wiggles that the rows
/// do not resolve are lost.
std::function<double(double)> interpolated(Rows rows) {
  constexpr std::size_t kPoints = 8192, kOrder = 4, kSlopeRows = 4;
  const std::size_t n = rows.ln_k.size();
  const double first = rows.ln_k.front(), last = rows.ln_k.back();
  const auto slope = [&](std::size_t i, std::size_t j) {
    return (rows.ln_value[j] - rows.ln_value[i]) / (rows.ln_k[j] - rows.ln_k[i]);
  };
  const double slope_below = slope(0, kSlopeRows), slope_above = slope(n - 1 - kSlopeRows, n - 1);
  const double below = rows.ln_value.front(), above = rows.ln_value.back();
  using namespace boost::math;  // its home up to Boost 1.76
  using namespace boost::math::interpolators;
  const barycentric_rational<double> exact(rows.ln_k.data(), rows.ln_value.data(), n, kOrder);
  const double step = (last - first) / (kPoints - 1);
  std::vector<double> values(kPoints);
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < kPoints; ++i) {
    values[i] = exact(std::min(first + static_cast<double>(i) * step, last));
  }
  return [=, spline = boost::math::interpolators::cardinal_quintic_b_spline<double>(values, first, step)](
             double k) {
    const double x = std::log(k);
    if (x < first) return std::exp(below + slope_below * (x - first));
    if (x > last) return std::exp(above + slope_above * (x - last));
    return std::exp(spline(x));
  };
}

}  // namespace

SpectrumTable read_spectrum_table(const std::filesystem::path& path, std::optional<double> stated_h) {
  const TextFile file(path);
  std::vector<TextLine> comments;
  std::optional<TableColumn> column;
  std::size_t columns = 0;
  Rows rows;
  double sign = 0;
  for (const TextLine& line : file.lines()) {
    if (is_comment(line) || (!column && !core::number_in(cells_in(line.text).front()))) {
      if (!column) comments.push_back(line);
      continue;
    }
    if (!column) {
      columns = cells_in(line.text).size();
      column = find_column(file, comments, columns, stated_h.has_value());
    }
    append_row(file, line, *column, columns, stated_h, rows, sign);
    ensure(rows.ln_k.size() <= kMostRows, Fault::format, "{} is a row too many: give a table of {} at most.",
           file.place(line), kMostRows);
  }
  ensure(rows.ln_k.size() >= kFewestRows, Fault::format,
         "{} has {} rows: give a table of {} or more, as CAMB or CLASS writes it.", file.path(),
         rows.ln_k.size(), kFewestRows);
  const double first_k = std::exp(rows.ln_k.front()), last_k = std::exp(rows.ln_k.back());
  const std::size_t size = rows.ln_k.size();
  SpectrumTable table{column->kind, interpolated(std::move(rows)), first_k, last_k, size, file.path(),
                      column->name, core::sha256(file.text())};
  if (table.kind == Kind::power) {
    const double sigma8 = sigma8_of(table);
    const auto* limits = core::find_cosmology_parameter("sigma8");
    ensure(sigma8 >= limits->low && sigma8 <= limits->high, Fault::format,
           "{} has sigma_8 = {:.4g}, as no P(k) in (Mpc/h)^3 today has for k in h/Mpc: check its units and "
           "redshift.",
           file.path(), sigma8);
  } else {
    ensure(table.value(last_k) < table.value(first_k), Fault::format,
           "{} has a {} that is larger at its last k than at its first, as none of matter is: check its "
           "columns.",
           file.path(), table.column);
  }
  return table;
}

TransferFunction transfer_function(const SpectrumTable& table, double n_s) {
  if (table.kind == Kind::transfer) return table.value;
  return [value = table.value, n_s](double k) { return std::sqrt(value(k) / std::pow(k, n_s)); };
}

double sigma8_of(const SpectrumTable& power) { return rms_in_spheres(power.value, 8); }

double extrapolated_share(const SpectrumTable& table, double n_s) {
  const TransferFunction transfer = transfer_function(table, n_s);
  const auto whole = [&](double k) { return std::pow(k, n_s) * std::pow(transfer(k), 2); };
  const auto inside = [&](double k) { return k >= table.first_k && k <= table.last_k ? whole(k) : 0; };
  return 1 - std::pow(rms_in_spheres(inside, 8) / rms_in_spheres(whole, 8), 2);
}

void ensure_covers(const SpectrumTable& table, double n_s, const core::GridSpec& particles) {
  using std::numbers::pi;
  const double fundamental = 2 * pi / particles.box_size;
  const double corner = std::sqrt(3.0) * pi / particles.cell_size();
  ensure(table.first_k <= fundamental, Fault::config,
         "--transfer {} begins at k = {:.6g} h/Mpc and the box needs it from {:.6g}: extend the table at its "
         "low end.",
         table.path, table.first_k, fundamental);
  ensure(
      table.last_k >= corner, Fault::config,
      "--transfer {} ends at k = {:.6g} h/Mpc and {} particles per side need it to {:.6g}: extend the table "
      "at its high end (kmax in CAMB, P_k_max_h/Mpc in CLASS).",
      table.path, table.last_k, particles.cells_per_side, corner);
  constexpr double kMostExtrapolated = 0.05;
  const double share = extrapolated_share(table, n_s);
  ensure(share <= kMostExtrapolated, Fault::config,
         "--transfer {} from k = {:.6g} to {:.6g} h/Mpc misses {:.1f} % of sigma_8 squared: extend it, 0.001 "
         "to 10 is enough.",
         table.path, table.first_k, table.last_k, 100 * share);
}

}  // namespace cosmo::sim
