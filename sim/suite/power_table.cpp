#include "sim/suite/power_table.hpp"

#include <fmt/format.h>

namespace cosmo::sim {

std::vector<Column> columns_of(const PowerTable& table) {
  std::vector<Column> columns = {{"k_h_mpc", table.k},
                                 {"modes", {table.modes.begin(), table.modes.end()}},
                                 {"p_input", table.input},
                                 {"p_initial", table.initial}};
  for (const PowerTable::Output& output : table.outputs)
    columns.push_back({fmt::format("p_z{}", output.redshift), output.power});
  return columns;
}

std::string to_csv(const PowerTable& table) { return to_csv(columns_of(table)); }

}  // namespace cosmo::sim
