#include "train/evaluate/column.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/error.hpp"
#include "nn/posterior/small_matrix.hpp"

namespace cosmo::train {

std::vector<Column> columns_of(const nn::Output& output, bool has_baseline) {
  if (output.has_classes()) return {{.name = "macro_f1", .single = true}};
  if (output.is_field()) return {};
  std::vector<Column> columns = {{"rmse_per_subvolume"}, {"rmse_per_universe"}};
  if (output.calibration_values() > 0) {
    columns.push_back({"calibration_per_subvolume", true});
    columns.push_back({"calibration_per_universe", true});
  }
  if (has_baseline) columns.push_back({"baseline_share"});
  return columns;
}

std::size_t width_of(const Column& column, std::size_t parameters) {
  if (column.single) return 1;
  return column.triangle ? nn::triangle_size(parameters) : parameters;
}

std::vector<std::string> headings_of(const Column& column, const std::vector<std::string>& parameters) {
  if (column.single) return {column.name};
  std::vector<std::string> headings;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    for (std::size_t j = 0; column.triangle && j < i; ++j)
      headings.push_back(fmt::format("{}_{}_{}", column.name, parameters[i], parameters[j]));
    headings.push_back(fmt::format("{}_{}", column.name, parameters[i]));
  }
  return headings;
}

const std::vector<double>* find_values(std::span<const Column> columns, std::string_view name) {
  const auto found = std::ranges::find(columns, name, &Column::name);
  return found == columns.end() ? nullptr : &found->values;
}

void set_values(std::span<Column> columns, std::string_view name, std::vector<double> values) {
  const auto found = std::ranges::find(columns, name, &Column::name);
  core::ensure(found != columns.end(), core::Fault::internal, "There is no column {}.", name);
  found->values = std::move(values);
}

}  // namespace cosmo::train
