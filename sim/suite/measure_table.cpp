#include "sim/suite/measure_table.hpp"

#include <fmt/format.h>

namespace cosmo::sim {

std::vector<Column> table_of(const std::vector<Measured<fourier::CorrelationFunction>>& outputs) {
  const fourier::CorrelationFunction& any = outputs.front().measure;
  std::vector<Column> table = {{"r_mpc_h", any.r},
                               {"separations", {any.separations.begin(), any.separations.end()}}};
  for (const auto& [redshift, measure] : outputs)
    table.push_back({fmt::format("xi_z{}", redshift), measure.xi});
  return table;
}

std::vector<Column> table_of(const std::vector<Measured<fourier::Bispectrum>>& outputs) {
  const fourier::Bispectrum& any = outputs.front().measure;
  std::vector<Column> table = {
      {"k_h_mpc", any.k},
      {"k_long_h_mpc", std::vector<double>(any.k.size(), any.k.empty() ? 0 : any.k[0])},
      {"triangles_equilateral", any.equilateral.triangles},
      {"triangles_squeezed", any.squeezed.triangles}};
  for (const auto& [redshift, measure] : outputs) {
    const auto add = [&](const char* name, const std::vector<double>& values) {
      table.push_back({fmt::format("{}_z{}", name, redshift), values});
    };
    add("p", measure.power);
    add("b_equilateral", measure.equilateral.b);
    add("b_squeezed", measure.squeezed.b);
    add("q_equilateral", measure.equilateral.q);
    add("q_squeezed", measure.squeezed.q);
  }
  return table;
}

}  // namespace cosmo::sim
