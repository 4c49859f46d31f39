#include "sim/suite/power_table.hpp"

#include <fmt/format.h>

#include "sim/suite/table.hpp"

namespace cosmo::sim {

std::string to_csv(const PowerTable& table) {
  std::vector<Column> columns = {{"k_h_mpc", table.k},
                                 {"modes", {table.modes.begin(), table.modes.end()}},
                                 {"p_input", table.input},
                                 {"p_initial", table.initial}};
  for (const PowerTable::Output& output : table.outputs)
    columns.push_back({fmt::format("p_z{}", output.redshift), output.power});
  return to_csv(columns);
}

}  // namespace cosmo::sim
