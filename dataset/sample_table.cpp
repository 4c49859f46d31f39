#include "dataset/sample_table.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <limits>
#include <string_view>

#include "core/error.hpp"
#include "core/random.hpp"
#include "core/text_file.hpp"

namespace cosmo::dataset {

using core::ensure;
using core::Fault;
using core::TextFile;
using core::TextLine;

namespace {

/// A cell and where it stands.
struct Cell {
  const TextFile& file;
  const TextLine& line;
  std::string_view text;
};

template <class T>
T whole_number(const Cell& cell, std::string_view column, std::uint64_t limit) {
  std::uint64_t number = 0;
  const char* last = cell.text.data() + cell.text.size();
  const auto [end, error] = std::from_chars(cell.text.data(), last, number);
  ensure(error == std::errc() && end == last && number < limit, Fault::format,
         "{} has no {} between 0 and {}: correct the table.", cell.file.place(cell.line), column, limit - 1);
  return static_cast<T>(number);
}

template <class T>
constexpr std::uint64_t kLimit = std::uint64_t{std::numeric_limits<T>::max()} + 1;

template <std::size_t axis>
void read_shift(const Cell& cell, SampleRow& row) {
  row.shift[axis] = whole_number<std::uint16_t>(cell, "shift", kLimit<std::uint16_t>);
}

void read_split(const Cell& cell, SampleRow& row) {
  const auto found = std::ranges::find(kSplitNames, cell.text);
  ensure(found != kSplitNames.end(), Fault::format, "{} has the split '{}': write {}.",
         cell.file.place(cell.line), cell.text.substr(0, 40), fmt::join(kSplitNames, " or "));
  row.split = static_cast<Split>(found - kSplitNames.begin());
}

/// How a column that is no parameter is read.
struct Column {
  std::string_view name;
  void (*read)(const Cell&, SampleRow&);
};

constexpr std::array<Column, 12> kColumns = {
    {{"file", [](const Cell& cell, SampleRow& row) { row.file = cell.text; }},
     {"record",
      [](const Cell& cell, SampleRow& row) {
        row.record = whole_number<std::uint32_t>(cell, "record", kLimit<std::uint32_t>);
      }},
     {"split", &read_split},
     {"shard", [](const Cell& cell, SampleRow& row) { row.shard = cell.text; }},
     {"simulation",
      [](const Cell& cell, SampleRow& row) {
        row.simulation = whole_number<std::uint32_t>(cell, "simulation", kLimit<std::uint32_t>);
      }},
     {"subvolume",
      [](const Cell& cell, SampleRow& row) {
        row.subvolume = whole_number<std::uint8_t>(cell, "subvolume", kLimit<std::uint8_t>);
      }},
     {"seed", [](const Cell& cell,
                 SampleRow& row) { row.seed = whole_number<std::uint64_t>(cell, "seed", core::kSeedLimit); }},
     {"roll",
      [](const Cell& cell, SampleRow& row) {
        row.roll = whole_number<std::uint16_t>(cell, "roll", kLimit<std::uint16_t>);
      }},
     {"shift_x", &read_shift<0>},
     {"shift_y", &read_shift<1>},
     {"shift_z", &read_shift<2>},
     {"crc32", [](const Cell& cell, SampleRow& row) {
        row.crc32 = whole_number<std::uint32_t>(cell, "crc32", kLimit<std::uint32_t>);
      }}}};

bool is_name(std::string_view text) {
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text.front())) == 0 &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
}

/// The header's names, checked.
std::vector<std::string> read_header(const TextFile& file, const TextLine& line) {
  std::vector<std::string> names;
  for (const std::string_view name : core::cells_of(line.text, ',')) {
    ensure(is_name(name), Fault::format,
           "{} names a column '{}': begin the table with names of letters, digits and _.", file.place(line),
           name.substr(0, 40));
    ensure(std::ranges::count(names, name) == 0, Fault::format, "{} names the column {} twice: keep one.",
           file.place(line), name);
    names.emplace_back(name);
  }
  for (const std::string_view needed : {"file", "simulation"}) {
    ensure(std::ranges::count(names, needed) == 1, Fault::format, "{} has no column '{}': add it{}.",
           file.place(line), needed,
           needed == "file" ? "" : ", for samples of one universe must stay in one split");
  }
  return names;
}

}  // namespace

std::string sample_table_header(const std::vector<std::string>& parameters) {
  return fmt::format("file,split,shard,simulation,subvolume,seed,roll,shift_x,shift_y,shift_z,crc32,{}\n",
                     fmt::join(parameters, ","));
}

std::string sample_table_line(const std::string& file, Split split, const std::string& shard,
                              const Sample& sample, std::uint32_t crc32) {
  return fmt::format("{},{},{},{},{},{},{},{},{},{}\n", file, name_of(split), shard, sample.simulation,
                     sample.subvolume, sample.seed, sample.roll, fmt::join(sample.shift, ","), crc32,
                     fmt::join(sample.parameters, ","));
}

SampleTable read_sample_table(const std::filesystem::path& path) {
  const TextFile file(path);
  std::vector<TextLine> lines = file.lines();
  std::erase_if(lines, [](const TextLine& line) { return line.text.front() == '#'; });
  ensure(lines.size() >= 2, Fault::format, "{} has no sample: write a header and a line for each.",
         file.path());
  const std::vector<std::string> names = read_header(file, lines.front());
  std::vector<void (*)(const Cell&, SampleRow&)> readers;
  SampleTable table;
  for (const std::string& name : names) {
    const auto column = std::ranges::find(kColumns, name, &Column::name);
    const bool known = column != kColumns.end();
    if (!known) table.parameters.push_back(name);
    readers.push_back(known ? column->read : [](const Cell& cell, SampleRow& row) {
      row.parameters.push_back(cell.file.number(cell.line, cell.text));
    });
  }
  for (auto line = lines.begin() + 1; line != lines.end(); ++line) {
    const auto cells = core::cells_of(line->text, ',');
    ensure(cells.size() == names.size(), Fault::format, "{} has {} cells for {} columns: correct the table.",
           file.place(*line), cells.size(), names.size());
    SampleRow& row = table.rows.emplace_back();
    for (std::size_t c = 0; c < cells.size(); ++c) readers[c]({file, *line, cells[c]}, row);
    ensure(!row.file.empty(), Fault::format, "{} names no file: correct the table.", file.place(*line));
  }
  return table;
}

}  // namespace cosmo::dataset
