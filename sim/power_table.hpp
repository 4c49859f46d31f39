#pragma once
// power_spectrum.csv: the power spectra of one simulation, a line a bin of one fundamental wavenumber.
//
//   k_h_mpc    mean wavenumber of the bin's modes [h/Mpc]
//   modes      how many modes, k and -k counted both
//   p_input    linear power today, at that wavenumber [(Mpc/h)³]
//   p_initial  measured on the initial field, scaled to today by linear growth [(Mpc/h)³]
//   p_z0, p_z0.5, …  measured at each redshift of the output [(Mpc/h)³]

#include <cstdint>
#include <filesystem>
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

/// Reads what to_csv() wrote. Throws Error{io} if the file cannot be read, Error{format} naming the file and
/// line if it is no such table or holds numbers that are no power spectrum.
PowerTable read_power_table(const std::filesystem::path& path);

}  // namespace cosmo::sim
