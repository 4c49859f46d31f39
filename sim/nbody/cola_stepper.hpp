#pragma once

#include "sim/linear/background.hpp"
#include "sim/nbody/force_mesh.hpp"
#include "sim/nbody/particle_set.hpp"
#include "sim/nbody/schedule.hpp"

namespace cosmo::sim {

/// Leapfrog in the frame of the Lagrangian trajectories: p holds only the part that perturbation theory does
/// not provide, with the kick and drift factors for momentum ∝ u(a) = a^-1.5.
///
/// Background and ForceMesh must outlive it. A copy holds the times of the same particles. Every member is
/// collective.
/// Source: Tassev, Zaldarriaga & Eisenstein 2013 (arXiv:1301.0322), appendix A.
class ColaStepper {
 public:
  ColaStepper(const Background& background, ForceMesh& forces) : background_(background), forces_(forces) {}

  /// Moves Lagrangian particles (x = q, see lpt.hpp) to their second-order positions at a, with p = 0.
  void start(ParticleSet& particles, double a);
  /// Kicks and drifts in one pass over the particles. Throws Error{numeric} if a position is not a number or
  /// a cell of the force mesh overflows.
  void advance(ParticleSet& particles, const Step& step);
  /// Drifts the particles with the present momenta to another a within the last step.
  void drift_to(ParticleSet& particles, double a);
  /// Brings the momenta, which are half a step off, to the positions' time and adds the part from
  /// perturbation theory: p = a² dx/dt / H0. Takes one more force calculation; not needed for positions
  /// alone.
  void finish(ParticleSet& particles);

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
  void displace(ParticleSet& particles, const Drift& drift);
  /// Throws Error{numeric} on all ranks if any has `stray` positions; sends every particle to its owner.
  void settle(ParticleSet& particles, bool stray) const;

  const Background& background_;
  ForceMesh& forces_;
  double a_ = 0;         ///< scale factor of the positions
  double a_kicked_ = 0;  ///< scale factor of the momenta
};

}  // namespace cosmo::sim
