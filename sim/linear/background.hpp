#pragma once

#include <array>
#include <functional>

#include "core/universe/cosmology.hpp"

namespace cosmo::sim {

/// Density of radiation today, in units of the critical density: photons of 2.7255 K and 3.046 families of
/// massless neutrinos, Ωr = Ωγ (1 + 7/8 (4/11)^(4/3) 3.046) with Ωγ h² = 2.4728e-5.
double radiation_density(double h);

/// Expansion and growth of a flat universe of matter, dark energy with the equation of state
/// w(a) = w0 + wa (1 - a) and, if asked for, radiation, as functions of the scale factor a (today 1).
///
/// Time is in units of 1/H0. The operator is T[·] = Q d/da with Q = a³E; D1 is normalised to D1(1) = 1, and
/// D2 < 0 accordingly. Growth is tabulated for 1e-4 <= a <= 1.1 with a relative error below 1e-7; outside
/// this range std::domain_error is thrown. Source: Tassev, Zaldarriaga & Eisenstein 2013 (arXiv:1301.0322),
/// section 2 and appendix A. Their equations hold for any smooth other components: T = a² d/dt, so that
/// T[T[D]] is a⁴ (D'' + 2 H D') and matter is the only source. Dark energy: Chevallier & Polarski 2001
/// (gr-qc/0009008), Linder 2003 (astro-ph/0208512).
class Background {
 public:
  /// Solves T[T[D1]] = 3/2 Ωm a D1 and T[T[D2]] = 3/2 Ωm a (D2 - D1²) from the matter era on, or from the
  /// radiation era on, where D1 = a + 2/3 Ωr/Ωm (Meszaros 1974, A&A 37, 225) and D2 is 0 for a -> 0.
  explicit Background(const core::Cosmology& cosmology, double omega_r = 0);

  // The names are the paper's. NOLINTBEGIN(readability-identifier-naming)
  double omega_m() const { return omega_m_; }
  /// Hubble rate / H0: E² = Ωm a⁻³ + Ωr a⁻⁴ + (1 - Ωm - Ωr) a^(-3(1 + w0 + wa)) exp(-3 wa (1 - a)).
  double E(double a) const;
  /// a³E(a).
  double Q(double a) const { return a * a * a * E(a); }

  double D1(double a) const { return growth_[0](a); }
  double T_D1(double a) const { return growth_[1](a); }
  double D2(double a) const { return growth_[2](a); }
  double T_D2(double a) const { return growth_[3](a); }
  double TT_D1(double a) const { return 1.5 * omega_m_ * a * D1(a); }
  double TT_D2(double a) const { return 1.5 * omega_m_ * a * (D2(a) - D1(a) * D1(a)); }
  /// D1 today where it is normalised to D1 = a in the matter era.
  double growth() const { return growth_today_; }
  // NOLINTEND(readability-identifier-naming)

 private:
  double omega_m_, omega_r_, w0_, wa_, growth_today_;
  std::array<std::function<double(double)>, 4> growth_;  ///< D1, T[D1], D2, T[D2] as functions of a
};

}  // namespace cosmo::sim
