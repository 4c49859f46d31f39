#pragma once
// power_spectrum.csv: the power spectra of one simulation, a line a bin of one fundamental wavenumber.
//
//   k_h_mpc    mean wavenumber of the bin's modes [h/Mpc]
//   modes      how many modes, k and -k counted both
//   p_input    linear power today, at that wavenumber [(Mpc/h)³]
//   p_initial  measured on the initial field, scaled to today by linear growth [(Mpc/h)³]
//   p_z0, p_z0.5, …  measured at each redshift of the output [(Mpc/h)³]
//
// k and modes are the initial field's. In the last line, at the Nyquist wavenumber, a force mesh of another
// size has other modes, which the later spectra average over.

#include <cstdint>
#include <string>
#include <vector>

namespace cosmo::sim {

/// Power spectra in the same bins; all columns have as many rows.
struct PowerTable {
  struct Output {
    double redshift;
    std::vector<double> power;  ///< [(Mpc/h)³]
  };

  std::vector<double> k;            ///< [h/Mpc]
  std::vector<std::int64_t> modes;  ///< how many, k and -k counted both
  std::vector<double> input;        ///< linear power today [(Mpc/h)³]
  std::vector<double> initial;      ///< of the initial field, scaled to today [(Mpc/h)³]
  std::vector<Output> outputs;      ///< in the order of their columns
};

/// The table as text. Numbers are the shortest that read back as they were: equal tables are equal bytes.
std::string to_csv(const PowerTable& table);

}  // namespace cosmo::sim
