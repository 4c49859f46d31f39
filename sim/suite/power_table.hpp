#pragma once
// power_spectrum.csv: the power spectra of one universe, one line per bin of one fundamental wavenumber.
//
//   k_h_mpc    mean wavenumber of the bin's modes [h/Mpc]
//   modes      number of modes; k and -k both count
//   p_input    linear power today, at that wavenumber [(Mpc/h)³]
//   p_initial  measured on the initial field, scaled to today by linear growth [(Mpc/h)³]
//   p_z0, p_z0.5, …  measured at each output redshift [(Mpc/h)³]
//
// k and modes are those of the initial field. In the last line, at the Nyquist wavenumber, a force mesh of
// another size has other modes, over which the later spectra average.

#include <cstdint>
#include <string>
#include <vector>

#include "sim/suite/table.hpp"

namespace cosmo::sim {

/// Power spectra in the same bins; all columns have the same number of rows.
struct PowerTable {
  struct Output {
    double redshift;
    std::vector<double> power;  ///< [(Mpc/h)³]
  };

  std::vector<double> k;            ///< [h/Mpc]
  std::vector<std::int64_t> modes;  ///< number of modes; k and -k both count
  std::vector<double> input;        ///< linear power today [(Mpc/h)³]
  std::vector<double> initial;      ///< power of the initial field, scaled to today [(Mpc/h)³]
  std::vector<Output> outputs;      ///< in the order of their columns
};

/// The columns with their names.
std::vector<Column> columns_of(const PowerTable& table);
/// The table as text. Numbers have the fewest digits that read back exactly: equal tables give equal bytes.
std::string to_csv(const PowerTable& table);

}  // namespace cosmo::sim
