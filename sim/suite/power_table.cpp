#include "sim/suite/power_table.hpp"

#include <fmt/format.h>

namespace cosmo::sim {

namespace {

constexpr const char* kColumns = "k_h_mpc,modes,p_input,p_initial";
constexpr const char* kOutput = "p_z";

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

}  // namespace cosmo::sim
