#pragma once

#include "sim/nbody/stepper.hpp"

namespace cosmo::sim {

/// COLA: leapfrog in the frame of the Lagrangian trajectories, whose displacements psi1 and psi2 it keeps. p
/// holds only the part that perturbation theory does not provide, with the kick and drift factors for momentum
/// ∝ u(a) = a^-1.5.
///
/// Steps are equal in a; kicks meet at their arithmetic midpoints. The first is half a kick, and finish() does
/// the last half.
/// Source: Tassev, Zaldarriaga & Eisenstein 2013 (arXiv:1301.0322), section 2 and appendix A; midpoints as in
/// their pyCOLA.
class ColaStepper : public Stepper {
 public:
  using Stepper::Stepper;

  std::vector<Step> schedule(double a_start, int steps) const override;
  void start(ParticleSet& particles, const core::GridSpec& lattice, const Step& first) override;
  void advance(ParticleSet& particles, const Step& step) override;
  void drift_to(ParticleSet& particles, double a) const override;
  void finish(ParticleSet& particles, double a) const override;

 private:
  /// What a kick adds to p per unit of each quantity.
  struct Kick {
    float g, psi1, psi2;
  };
  /// What a drift adds to x per unit of each quantity.
  struct Drift {
    float p, psi1, psi2;
  };
  Kick kick(double a_force, double a_from, double a_to) const;
  Drift drift(double a_from, double a_to) const;
  void displace(ParticleSet& particles, const Drift& drift) const;
};

}  // namespace cosmo::sim
