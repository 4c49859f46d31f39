#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>

#include "core/grid.hpp"
#include "sim/linear/transfer_function.hpp"

namespace cosmo::sim {

/// A linear spectrum today that CAMB or CLASS computed, read from their text files.
struct SpectrumTable {
  enum class Kind { power, transfer };
  Kind kind;
  /// P [(Mpc/h)³], or T up to a factor such that P ∝ k^ns T², at k [h/Mpc] > 0. Between rows interpolated in
  /// ln k and the logarithm of the value, beyond the ends a power law.
  std::function<double(double)> value;
  double first_k;  ///< [h/Mpc]
  double last_k;   ///< [h/Mpc]
  std::size_t rows;
  std::string path;
  std::string column;  ///< what was read, to be told: "P(k)", "T(k) from column 7, total"
  std::string sha256;  ///< of the file
};

/// Reads
///  - two columns, k and P: CLASS *_pk.dat, CAMB matterpower.dat, with or without lines of comment (#),
///  - more columns whose header names one d_m or d_tot (CLASS *_tk.dat; divided by k², as its header
///  explains),
///    -T_tot/k2 (CLASS with format = camb) or total (CAMB),
///  - seven columns or more without a header: CAMB transfer_out, whose column 7 is all matter.
/// T may have either sign, the same in all rows. Throws Error{io} if the file cannot be read, else
/// Error{format} naming file and line: other columns, a header in Mpc without h, values that are no finite
/// numbers or not positive, k not increasing, fewer than 20 rows, more than 100,000, or a P(k) whose
/// sigma8 is outside sigma8's limits.
SpectrumTable read_spectrum_table(const std::filesystem::path& path);

/// T(k) up to a factor: of a P(k), sqrt(P/k^ns).
TransferFunction transfer_function(const SpectrumTable& table, double n_s);

/// The part of sigma8² that comes from the power laws beyond the table's ends.
double extrapolated_share(const SpectrumTable& table, double n_s);

/// Throws Error{config} that names the short end unless the table covers all modes of a field on `particles`,
/// from 2π/L to sqrt(3) π N/L, and all but 5 % of its sigma8².
void ensure_covers(const SpectrumTable& table, double n_s, const core::GridSpec& particles);

/// The rms density contrast of a P(k) table in spheres of 8 Mpc/h.
double sigma8_of(const SpectrumTable& power);

}  // namespace cosmo::sim
