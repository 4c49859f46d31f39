#pragma once
// --transfer: the shape of the linear spectrum, a formula or a table.

#include <optional>
#include <string>

#include "core/grid.hpp"
#include "core/run/options.hpp"
#include "core/universe/cosmology.hpp"
#include "sim/linear/spectrum_table.hpp"
#include "sim/linear/transfer_function.hpp"

namespace cosmo::sim {

struct TransferChoice {
  std::string transfer = "eisenstein-hu";   ///< --transfer
  std::optional<SpectrumTable> table = {};  ///< --transfer FILE: instead of `transfer`
  std::optional<double> stated_h =
      {};  ///< with --transfer-units: h of 1/Mpc, by which the table was converted, or 1

  /// Declares --transfer and --transfer-units. `standard`: the default of the first; nothing: what a universe states.
  static void declare(core::Options& options, std::optional<std::string> standard);
  /// Reads them, and the table in a universe with this h. Throws Error{io} or Error{config} naming the option, and as
  /// read_spectrum_table() does.
  static TransferChoice read(const core::Options& options, double h);
  /// Throws Error{config} listing the names for another formula, and as ensure_covers() does for a table.
  void check_shape(double n_s, const core::GridSpec& particles) const;

  TransferFunction transfer_of(const core::Cosmology& cosmology) const;
};

/// What facts say of a table: "table sha256:" and the beginning of its digest.
inline constexpr std::string_view kTableFact = "table sha256:";
/// What facts say of the choice: the formula's name, or the table's digest.
std::string fact_of(const TransferChoice& choice);

}  // namespace cosmo::sim
