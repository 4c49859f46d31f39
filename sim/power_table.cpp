#include "sim/power_table.hpp"

#include <charconv>
#include <cmath>
#include <fstream>
#include <string_view>

#include "core/error.hpp"

namespace cosmo::sim {

using core::ensure;
using core::Fault;

namespace {

constexpr const char* kColumns = "k_h_mpc,modes,p_input,p_initial";
constexpr std::size_t kFixed = 4;  ///< columns before those of the outputs
constexpr std::string_view kOutput = "p_z";
constexpr std::size_t kMostRows = 1 << 14;
constexpr std::size_t kLongestLine = 1 << 14;

std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  for (std::size_t comma = 0; comma != std::string_view::npos; line.remove_prefix(comma + 1)) {
    comma = line.find(',');
    cells.push_back(line.substr(0, comma));
    if (comma == std::string_view::npos) break;
  }
  return cells;
}

/// Parses the lines of a file, and says where it stumbles.
class Parser {
 public:
  explicit Parser(const std::filesystem::path& path) : path_(path.string()), file_(path) {
    ensure(file_.good(), Fault::io, "{} cannot be read: check its name and permissions.", path_);
  }

  /// The next line's cells; none at the end. Valid until the next call.
  std::vector<std::string_view> next() {
    if (!std::getline(file_, line_)) return {};
    ++number_;
    check(line_.size() <= kLongestLine && number_ <= kMostRows, "is too long");
    return cells_of(line_);
  }

  template <class T>
  T number(std::string_view cell) const {
    T value{};
    const auto [end, code] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    check(code == std::errc() && end == cell.data() + cell.size() &&
              std::isfinite(static_cast<double>(value)) && value >= 0,
          "holds something that is no finite positive number");
    return value;
  }

  void check(bool good, std::string_view what) const {
    ensure(good, Fault::format, "Line {} of {} {}: a table of power spectra is expected, restore the file.",
           number_, path_, what);
  }

 private:
  std::string path_;
  std::ifstream file_;
  std::string line_;
  std::size_t number_ = 0;
};

/// The table without rows that the first line announces.
PowerTable read_columns(Parser& parser) {
  PowerTable table;
  const std::vector<std::string_view> names = parser.next();
  const std::vector<std::string_view> fixed = cells_of(kColumns);
  parser.check(names.size() >= kFixed && std::equal(fixed.begin(), fixed.end(), names.begin()),
               "does not name the columns");
  for (std::size_t c = kFixed; c < names.size(); ++c) {
    parser.check(names[c].starts_with(kOutput), "does not name the columns");
    table.outputs.push_back({parser.number<double>(names[c].substr(kOutput.size())), {}});
  }
  return table;
}

}  // namespace

std::string to_csv(const PowerTable& table) {
  std::string text = kColumns;
  for (const PowerTable::Output& output : table.outputs)
    text += fmt::format(",{}{}", kOutput, output.redshift);
  text += "\n";
  for (std::size_t row = 0; row < table.k.size(); ++row) {
    text += fmt::format("{},{},{},{}", table.k[row], table.modes.at(row), table.input.at(row),
                        table.initial.at(row));
    for (const PowerTable::Output& output : table.outputs) text += fmt::format(",{}", output.power.at(row));
    text += "\n";
  }
  return text;
}

PowerTable read_power_table(const std::filesystem::path& path) {
  Parser parser(path);
  PowerTable table = read_columns(parser);
  for (auto cells = parser.next(); !cells.empty(); cells = parser.next()) {
    parser.check(cells.size() == kFixed + table.outputs.size(),
                 "has another number of columns than the first");
    table.k.push_back(parser.number<double>(cells[0]));
    table.modes.push_back(parser.number<std::int64_t>(cells[1]));
    table.input.push_back(parser.number<double>(cells[2]));
    table.initial.push_back(parser.number<double>(cells[3]));
    for (std::size_t o = 0; o < table.outputs.size(); ++o)
      table.outputs[o].power.push_back(parser.number<double>(cells[kFixed + o]));
    const std::size_t rows = table.k.size();
    parser.check(rows == 1 || table.k[rows - 1] > table.k[rows - 2],
                 "does not have a larger k than the last");
  }
  parser.check(!table.k.empty(), "is the last");
  return table;
}

}  // namespace cosmo::sim
