#include "sim/linear/spectrum_check.hpp"

#include <algorithm>
#include <cmath>

#include "core/error.hpp"

namespace cosmo::sim {

namespace {

constexpr double kTolerance = 0.1;

/// Half of the range of ln(P / P of a formula) over 0.02 < k < 0.3 h/Mpc: the largest deviation after the best scaling.
double deviation(const SpectrumTable& table, const core::Cosmology& cosmology,
                 const TransferFunction& formula) {
  constexpr int kSteps = 100;
  constexpr double kFirst = 0.02, kLast = 0.3;
  const TransferFunction transfer = transfer_function(table, cosmology.n_s);
  double least = HUGE_VAL, most = -HUGE_VAL;
  for (int i = 0; i <= kSteps; ++i) {
    const double k = kFirst * std::pow(kLast / kFirst, static_cast<double>(i) / kSteps);
    const double ratio = 2 * std::log(std::abs(transfer(k) / formula(k)));
    least = std::min(least, ratio);
    most = std::max(most, ratio);
  }
  return (most - least) / 2;
}

}  // namespace

std::vector<std::string> doubts_about(const SpectrumTable& table, const core::Cosmology& cosmology,
                                      double lowest, double highest) {
  std::vector<std::string> doubts;
  if (table.kind == SpectrumTable::Kind::power) {
    const double own = sigma8_of(table);
    if (own < (1 - kTolerance) * lowest || own > (1 + kTolerance) * highest)
      doubts.push_back(fmt::format(
          "its own sigma_8 is {:.4g}, and {} asked for, to which it is scaled: check its units, redshift and universe",
          own,
          lowest == highest ? fmt::format("{:.4g} is", lowest)
                            : fmt::format("{:.4g} to {:.4g} are", lowest, highest)));
  }
  const double off = std::min(deviation(table, cosmology, eisenstein_hu(cosmology)),
                              deviation(table, cosmology, no_wiggle(cosmology)));
  if (off > kTolerance)
    doubts.push_back(fmt::format(
        "its shape for 0.02 < k < 0.3 h/Mpc is {:.0f} % off that of a universe of omega_m = {:.4g}, h = {:.4g}, omega_b = {:.4g}, "
        "n_s = {:.4g}: check the unit of k (--transfer-units 1/Mpc, if it is that), these parameters, and the table",
        100 * off, cosmology.omega_m, cosmology.h, cosmology.omega_b, cosmology.n_s));
  return doubts;
}

}  // namespace cosmo::sim
