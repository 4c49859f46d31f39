#pragma once
// Tables of numbers as CSV text.

#include <string>
#include <vector>

namespace cosmo::sim {

/// A column of a table.
struct Column {
  std::string name;
  std::vector<double> values;
};

/// The table as text: names, then one line per row. All columns have the same number of rows. Numbers have the
/// fewest digits that read back exactly: equal tables give equal bytes.
std::string to_csv(const std::vector<Column>& table);

}  // namespace cosmo::sim
