#include "sim/suite/table.hpp"

#include <fmt/format.h>

namespace cosmo::sim {

std::string to_csv(const std::vector<Column>& table) {
  std::string text;
  const auto end = [&](const Column& column) { return &column == &table.back() ? '\n' : ','; };
  for (const Column& column : table) text += column.name + end(column);
  for (std::size_t row = 0; row < table.front().values.size(); ++row) {
    for (const Column& column : table) text += fmt::format("{}{}", column.values.at(row), end(column));
  }
  return text;
}

}  // namespace cosmo::sim
