#pragma once

#include "sim/nbody/stepper.hpp"

namespace cosmo::sim {

/// BullFrog: leapfrog in growth time D = D1, with kicks that follow second-order perturbation theory without
/// its displacements. Between start() and finish() p holds the velocity v = dx/dD [Mpc/h], and psi1, psi2 are
/// empty: 24 bytes per particle.
///
/// Steps are equal in D. A step drifts by ΔD/2, kicks at D_m = D_n + ΔD/2, and drifts by ΔD/2 again:
///
///   v_{n+1} = α v_n + (1 - α)/D_m A(x_m),  A = -∇∇⁻²delta,
///   α = (D2'_{n+1} - B)/(D2'_n - B),  B = (D2_n + D2'_n ΔD/2)/D_m - D_m,  ' = d/dD.
///
/// Two half drifts that meet are one, from a kick to the next, in the kick's pass over the particles.
/// Source: Rampf, List & Hahn 2024 (arXiv:2409.19049); α is derived again in docs/method/cola.md, and tested.
class BullFrogStepper : public Stepper {
 public:
  using Stepper::Stepper;

  std::vector<Step> schedule(double a_start, int steps) const override;
  void start(ParticleSet& particles, const core::GridSpec& lattice, const Step& first) override;
  void advance(ParticleSet& particles, const Step& step) override;
  void drift_to(ParticleSet& particles, double a) const override;
  /// dp = A/D dF with F = T[D1] = p/v, from the last kick's end to a. α of such a kick would have a pole,
  /// because it may go backwards.
  void finish(ParticleSet& particles, double a) const override;

 protected:
  /// The scale factor after this share of the way from a_start to today, in the time in which steps are equal.
  virtual double on_the_way(double a_start, double share) const;
  /// α of a kick.
  virtual double alpha(const Step& step) const;

 private:
  /// dD2/dD1.
  double slope(double a) const { return background_.T_D2(a) / background_.T_D1(a); }
  /// ΔD of a drift.
  float drift(double a_from, double a_to) const {
    return static_cast<float>(background_.D1(a_to) - background_.D1(a_from));
  }
};

}  // namespace cosmo::sim
