#pragma once
// The parameters of a flat universe, and the one table of them for sampling, manifests, targets and options.

#include <array>
#include <string_view>

namespace cosmo::core {

/// A flat universe of matter and dark energy, without radiation. Defaults: Planck-like ΛCDM, as at the
/// CosmoFlow suite's centre.
struct Cosmology {
  double omega_m = 0.3089;  ///< matter density today, in units of the critical density
  double sigma8 = 0.8159;   ///< rms linear density contrast in spheres of 8 Mpc/h today
  double n_s = 0.9667;      ///< slope of the primordial spectrum
  double h = 0.703;         ///< Hubble constant today / (100 km/s/Mpc)
  double omega_b = 0.045;   ///< baryon density today, in units of the critical density
  double w0 = -1;           ///< equation of state of dark energy today
  double wa = 0;            ///< its change: w(a) = w0 + wa (1 - a)

  bool operator==(const Cosmology&) const = default;
};

/// One row of the table: the parameter's name everywhere, and the accepted values. Files written before a row
/// was added lack it: readers give such a parameter its default in Cosmology, which is what that version
/// computed with.
struct CosmologyParameter {
  std::string_view name;
  double Cosmology::*member;
  double low;   ///< smallest value accepted
  double high;  ///< largest value accepted
  std::string_view meaning;
};

inline constexpr std::array<CosmologyParameter, 7> kCosmologyParameters = {{
    {"omega_m", &Cosmology::omega_m, 0.05, 1.0, "matter density today / critical density"},
    {"sigma8", &Cosmology::sigma8, 0.1, 2.0, "rms linear density contrast in 8 Mpc/h spheres today"},
    {"n_s", &Cosmology::n_s, 0.5, 1.5, "slope of the primordial spectrum"},
    {"h", &Cosmology::h, 0.3, 1.2, "Hubble constant today / (100 km/s/Mpc)"},
    {"omega_b", &Cosmology::omega_b, 0.001, 0.2, "baryon density today / critical density"},
    {"w0", &Cosmology::w0, -2.5, -0.3, "equation of state of dark energy today"},
    {"wa", &Cosmology::wa, -3.0, 2.0, "change with time of that equation of state: w(a) = w0 + wa (1 - a)"},
}};

/// The row called `name`, or nullptr.
const CosmologyParameter* find_cosmology_parameter(std::string_view name);

/// Throws Error{config} if a value is outside its row's limits, if baryons exceed matter, or if dark energy
/// does not vanish against matter in the past (w0 + wa >= 0).
void validate(const Cosmology& cosmology);

}  // namespace cosmo::core
