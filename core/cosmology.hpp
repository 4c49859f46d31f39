#pragma once
// The parameters of a flat ΛCDM universe and the one table that sampling, manifests, targets and options
// walk.

#include <array>
#include <string_view>

namespace cosmo::core {

/// A flat ΛCDM universe without radiation. Defaults: Planck-like, as the CosmoFlow suite's centre.
struct Cosmology {
  double omega_m = 0.3089;  ///< matter density today, in units of the critical density
  double sigma8 = 0.8159;   ///< rms linear density contrast in spheres of 8 Mpc/h today
  double n_s = 0.9667;      ///< slope of the primordial spectrum
  double h = 0.703;         ///< Hubble constant today / (100 km/s/Mpc)
  double omega_b = 0.045;   ///< baryon density today, in units of the critical density
};

/// One row of the table: how the parameter is called everywhere, and the values that make sense.
struct CosmologyParameter {
  std::string_view name;
  double Cosmology::*member;
  double low;   ///< smallest value accepted
  double high;  ///< largest value accepted
  std::string_view meaning;
};

inline constexpr std::array<CosmologyParameter, 5> kCosmologyParameters = {{
    {"omega_m", &Cosmology::omega_m, 0.05, 1.0, "matter density today / critical density"},
    {"sigma8", &Cosmology::sigma8, 0.1, 2.0, "rms linear density contrast in 8 Mpc/h spheres today"},
    {"n_s", &Cosmology::n_s, 0.5, 1.5, "slope of the primordial spectrum"},
    {"h", &Cosmology::h, 0.3, 1.2, "Hubble constant today / (100 km/s/Mpc)"},
    {"omega_b", &Cosmology::omega_b, 0.001, 0.2, "baryon density today / critical density"},
}};

/// The row called `name`, or nullptr.
const CosmologyParameter* find_cosmology_parameter(std::string_view name);

/// Throws Error{config} if a value is outside its row's limits or baryons exceed matter.
void validate(const Cosmology& cosmology);

}  // namespace cosmo::core
