#pragma once

#include <functional>

#include "core/universe/cosmology.hpp"
#include "sim/linear/transfer_function.hpp"

namespace cosmo::sim {

/// Rms density contrast in spheres of `radius` [Mpc/h] for a spectrum P [(Mpc/h)³] of k [h/Mpc] > 0:
/// σ² = ∫ dlnk k³P/(2π²) W²(kR), W = 3 (sin x - x cos x)/x³, over 1e-6 … 1e4 h/Mpc. Relative error below 1e-5
/// for radii from 1 to 16 Mpc/h.
double rms_in_spheres(const std::function<double(double)>& power, double radius);

/// Rms density contrast of a slab that is one of `slabs` parts of a periodic box, whose own contrast is 0. Only the box's waves
/// k_m = 2π m/L across the slab count: σ² = Σ_{m≠0} P(k_m)/L³ sinc²(π m/slabs).
double rms_in_slabs(const std::function<double(double)>& power, double box_size, int slabs);

/// The linear matter power spectrum today, P(k) = A k^ns T(k)², normalised to sigma8.
class LinearPower {
 public:
  LinearPower(const core::Cosmology& cosmology, TransferFunction transfer);

  /// P [(Mpc/h)³] at k [h/Mpc]; 0 at k = 0.
  double operator()(double k) const;
  /// Rms linear density contrast in spheres of `radius` [Mpc/h], as rms_in_spheres().
  double sigma(double radius) const { return rms_in_spheres(std::cref(*this), radius); }
  /// First-order rms displacement along one axis today [Mpc/h]: σ² = ∫ dlnk kP/(6π²).
  double rms_displacement() const;

 private:
  double n_s_;
  TransferFunction transfer_;
  double amplitude_ = 1;
};

}  // namespace cosmo::sim
