#pragma once

#include "sim/linear/background.hpp"
#include "sim/nbody/force_mesh.hpp"
#include "sim/nbody/particle_set.hpp"
#include "sim/nbody/schedule.hpp"

namespace cosmo::sim {

/// Leapfrog in the frame of the Lagrangian trajectories: p holds only what perturbation theory does not know,
/// with the kick and drift factors of momentum ∝ u(a) = a^-1.5.
///
/// Background and ForceMesh must outlive it. A copy knows the times of the same particles. Every member is
/// collective.
/// Source: Tassev, Zaldarriaga & Eisenstein 2013 (arXiv:1301.0322), appendix A.
class ColaStepper {
 public:
  ColaStepper(const Background& background, ForceMesh& forces) : background_(background), forces_(forces) {}

  /// Moves Lagrangian particles (x = q, see lpt.hpp) to their positions of second order at a, with p = 0.
  void start(ParticleSet& particles, double a);
  /// Kicks and drifts, in one walk over the particles. Throws Error{numeric} if a position is not a number or
  /// a cell of the force mesh overflows.
  void advance(ParticleSet& particles, const Step& step);
  /// Moves the particles to where the present momenta have them at another a of the last step.
  void drift_to(ParticleSet& particles, double a);
  /// Brings momenta, half a step off, to the positions' time and adds what perturbation theory knows:
  /// p = a² dx/dt / H0. One more force; not needed by who wants positions only.
  void finish(ParticleSet& particles);

 private:
  /// What a kick adds to p, per unit of each.
  struct Kick {
    float g, psi1, psi2;
  };
  /// What a drift adds to x, per unit of each.
  struct Drift {
    float p, psi1, psi2;
  };
  Kick kick(double a_force, double a_from, double a_to) const;
  Drift drift(double a_from, double a_to) const;
  void displace(ParticleSet& particles, const Drift& drift);
  /// Agrees that no rank saw positions that are not numbers, and sends every particle to its owner.
  void settle(ParticleSet& particles, bool stray) const;

  const Background& background_;
  ForceMesh& forces_;
  double a_ = 0;         ///< of the positions
  double a_kicked_ = 0;  ///< of the momenta
};

}  // namespace cosmo::sim
