#include "dataset/exchange/sample_table.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

#include "core/error.hpp"
#include "core/format/csv_table.hpp"
#include "core/output/manifest.hpp"
#include "core/random.hpp"
#include "core/universe/universe.hpp"
#include "dataset/quantity/target.hpp"

namespace cosmo::dataset {

using core::ensure;
using core::Fault;

namespace {

template <class T>
T whole_number(const core::Cell& cell, std::string_view column) {
  return static_cast<T>(cell.whole_number(column, std::uint64_t{std::numeric_limits<T>::max()} + 1));
}

template <std::size_t axis>
void read_shift(const core::Cell& cell, SampleRow& row) {
  row.shift[axis] = whole_number<std::uint16_t>(cell, "shift");
}

/// The table may come from a stranger, so it may name only files below --input.
std::string file_in(const core::Cell& cell) {
  ensure(!cell.text.empty(), Fault::format, "{} names no file: correct the table.", cell.place());
  ensure(core::is_inside(cell.text), Fault::format,
         "{} names the file '{}', which is not below --input: write paths relative to that.", cell.place(),
         cell.text.substr(0, 200));
  return std::string(cell.text);
}

void read_split(const core::Cell& cell, SampleRow& row) {
  const auto found = std::ranges::find(kSplitNames, cell.text);
  ensure(found != kSplitNames.end(), Fault::format, "{} has the split '{}': write {}.", cell.place(),
         cell.text.substr(0, 40), fmt::join(kSplitNames, " or "));
  row.split = static_cast<Split>(found - kSplitNames.begin());
}

/// A column that is not a parameter, and how it is read.
struct Column {
  std::string_view name;
  void (*read)(const core::Cell&, SampleRow&);
};

constexpr std::array<Column, 13> kColumns = {
    {{"file", [](const core::Cell& cell, SampleRow& row) { row.file = file_in(cell); }},
     {"target_crc32",
      [](const core::Cell& cell, SampleRow& row) {
        row.target_crc32 = whole_number<std::uint32_t>(cell, "target_crc32");
      }},
     {"record", [](const core::Cell& cell,
                   SampleRow& row) { row.record = whole_number<std::uint32_t>(cell, "record"); }},
     {"split", &read_split},
     {"shard", [](const core::Cell& cell, SampleRow& row) { row.shard = cell.text; }},
     {"simulation", [](const core::Cell& cell,
                       SampleRow& row) { row.simulation = whole_number<std::uint32_t>(cell, "simulation"); }},
     {"subvolume", [](const core::Cell& cell,
                      SampleRow& row) { row.subvolume = whole_number<std::uint8_t>(cell, "subvolume"); }},
     {"seed",
      [](const core::Cell& cell, SampleRow& row) { row.seed = cell.whole_number("seed", core::kSeedLimit); }},
     {"roll",
      [](const core::Cell& cell, SampleRow& row) { row.roll = whole_number<std::uint16_t>(cell, "roll"); }},
     {"shift_x", &read_shift<0>},
     {"shift_y", &read_shift<1>},
     {"shift_z", &read_shift<2>},
     {"crc32", [](const core::Cell& cell, SampleRow& row) {
        row.crc32 = whole_number<std::uint32_t>(cell, "crc32");
      }}}};

/// Columns of settings begin so; their numbers are those of /settings in shards.
constexpr std::string_view kSettingPrefix = "setting_";
/// The column of the target's files begins so, and ends with its quantity.
constexpr std::string_view kTargetPrefix = "target_";

/// The header's names, checked; those that name rows are empty and in `passed_over`.
std::vector<std::string> names_of(const core::CsvTable& table, std::vector<std::string>& passed_over) {
  const std::vector<std::string> names = table.names([&](const core::Cell& name) {
    if (core::names_rows(name.text)) {
      if (!name.text.empty()) passed_over.emplace_back(name.text);
      return std::string();
    }
    ensure(core::is_parameter_name(name.text), Fault::format,
           "{} names a column '{}': begin the table with names of letters, digits and _.", name.place(),
           name.text.substr(0, 40));
    return std::string(name.text);
  });
  for (const std::string_view needed : {"file", "simulation"}) {
    ensure(std::ranges::count(names, needed) == 1, Fault::format, "{} has no column '{}': add it{}.",
           table.header_place(), needed,
           needed == "file" ? "" : ", for samples of one universe must stay in one split");
  }
  return names;
}

}  // namespace

std::string name_of(const SampleRow& row) {
  return row.record ? fmt::format("{}, record {}", row.file, *row.record) : row.file;
}

std::string sample_table_header(const SampleSpec& spec) {
  std::string header = "file,split,shard,simulation,subvolume,seed,roll,shift_x,shift_y,shift_z,crc32";
  if (spec.target) header += fmt::format(",{}{},target_crc32", kTargetPrefix, spec.target->name);
  for (const std::string& name : spec.parameters.names) header += "," + name;
  for (const SettingColumn& column : spec.settings)
    header += fmt::format(",{}{}", kSettingPrefix, column.name);
  return header + "\n";
}

std::string sample_table_line(const std::string& file, Split split, const std::string& shard,
                              const Sample& sample, std::uint32_t crc32,
                              const std::optional<TargetFile>& target) {
  std::string line =
      fmt::format("{},{},{},{},{},{},{},{},{}", file, name_of(split), shard, sample.simulation,
                  sample.subvolume, sample.seed, sample.roll, fmt::join(sample.shift, ","), crc32);
  if (target) line += fmt::format(",{},{}", target->file, target->crc32);
  for (const double value : sample.parameters) line += fmt::format(",{}", value);
  for (const double value : sample.settings) line += fmt::format(",{}", value);
  return line + "\n";
}

SampleTable read_sample_table(const std::filesystem::path& path) {
  const core::CsvTable csv(path, "sample");
  SampleTable table;
  const std::vector<std::string> names = names_of(csv, table.passed_over);
  std::vector<void (*)(const core::Cell&, SampleRow&)> readers;
  for (const std::string& name : names) {
    const auto column = std::ranges::find(kColumns, name, &Column::name);
    if (name.empty()) {
      readers.push_back([](const core::Cell&, SampleRow&) {});
    } else if (column != kColumns.end()) {
      readers.push_back(column->read);
    } else if (name.starts_with(kTargetPrefix)) {
      ensure(table.target.empty(), Fault::format,
             "{} has a column {} beside another target: leave one of them out.", csv.header_place(), name);
      table.target = name.substr(kTargetPrefix.size());
      table.target_kind = kind_of_target(table.target, csv.header_place());
      readers.push_back([](const core::Cell& cell, SampleRow& row) { row.target = file_in(cell); });
    } else if (name.starts_with(kSettingPrefix)) {
      table.settings.push_back(name.substr(kSettingPrefix.size()));
      readers.push_back([](const core::Cell& cell, SampleRow& row) {
        row.settings.push_back(cell.text == "nan" ? std::numeric_limits<double>::quiet_NaN() : cell.number());
      });
    } else {
      table.parameters.push_back(name);
      readers.push_back(
          [](const core::Cell& cell, SampleRow& row) { row.parameters.push_back(cell.number()); });
    }
  }
  csv.for_each_row([&](const std::vector<core::Cell>& cells) {
    SampleRow& row = table.rows.emplace_back();
    for (std::size_t c = 0; c < cells.size(); ++c) readers[c](cells[c], row);
  });
  return table;
}

}  // namespace cosmo::dataset
