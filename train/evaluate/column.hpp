#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nn/output/output.hpp"

namespace cosmo::train {

/// A figure of each epoch's evaluation, with a value for each parameter or for each pair of them, or one value.
struct Column {
  std::string name;
  bool triangle = false;  ///< a lower triangle, row by row; otherwise one value per parameter
  std::vector<double> values = {};
  bool single = false;  ///< one value
};

/// The columns that the evaluation of a network yields, without values, in their order in files; none of fields of numbers.
std::vector<Column> columns_of(const nn::Output& output, bool has_baseline);

/// Number of values of a column for `parameters` parameters.
std::size_t width_of(const Column& column, std::size_t parameters);
/// The headings of its values in a table: "rmse_per_universe_omega_m".
std::vector<std::string> headings_of(const Column& column, const std::vector<std::string>& parameters);

/// The values of the column called `name`; nullptr if there is none.
const std::vector<double>* find_values(std::span<const Column> columns, std::string_view name);
/// Sets them. The column must be there.
void set_values(std::span<Column> columns, std::string_view name, std::vector<double> values);

}  // namespace cosmo::train
