#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "core/grid.hpp"
#include "sim/linear/transfer_function.hpp"

namespace cosmo::sim {

/// A linear spectrum today that CAMB or CLASS computed, read from their text files.
struct SpectrumTable {
  enum class Kind { power, transfer };
  Kind kind;
  /// P [(Mpc/h)³], or T up to a factor such that P ∝ k^ns T², at k [h/Mpc] > 0. Interpolated between rows in
  /// ln k and the logarithm of the value, with a power law beyond the ends.
  std::function<double(double)> value;
  double first_k;  ///< [h/Mpc]
  double last_k;   ///< [h/Mpc]
  std::size_t rows;
  std::string path;
  std::string column;  ///< what was read, for messages: "P(k)", "T(k) from column 7, total"
  std::string sha256;  ///< SHA-256 of the file's text
};

/// Reads
///  - two columns, k and P: CLASS *_pk.dat, CAMB matterpower.dat, with or without comment lines (#),
///  - more columns whose header names one d_m or d_tot (CLASS *_tk.dat; divided by k², as its header
///    explains), -T_tot/k2 (CLASS with format = camb) or total (CAMB),
///  - seven or more columns without a header: CAMB transfer_out, whose column 7 is all matter.
/// T may have either sign, the same in all rows. Throws Error{io} if the file cannot be read, otherwise
/// Error{format} naming file and line for: other columns, a header in Mpc without h, values that are not
/// finite or not positive, k not increasing, fewer than 20 or more than 100,000 rows, or a P(k) whose sigma8
/// is outside sigma8's limits. Numbers may be written as Fortran does, in quotes, and separated by commas. With `stated_h`, k is
/// in units of this h in h/Mpc, whatever the header has: h for 1/Mpc and Mpc³, and 1 for h/Mpc.
SpectrumTable read_spectrum_table(const std::filesystem::path& path, std::optional<double> stated_h = {});

/// T(k) up to a factor; for a table of P(k), sqrt(P/k^ns).
TransferFunction transfer_function(const SpectrumTable& table, double n_s);

/// The fraction of sigma8² that comes from the power laws beyond the table's ends.
double extrapolated_share(const SpectrumTable& table, double n_s);

/// Throws Error{config} naming the end that is too short unless the table covers all modes of a field on
/// `particles`, from 2π/L to sqrt(3) π N/L, and all but 5 % of its sigma8².
void ensure_covers(const SpectrumTable& table, double n_s, const core::GridSpec& particles);

/// The rms density contrast of a P(k) table in spheres of 8 Mpc/h.
double sigma8_of(const SpectrumTable& power);

}  // namespace cosmo::sim
