#pragma once

#include "sim/background.hpp"
#include "sim/force_mesh.hpp"
#include "sim/particle_set.hpp"
#include "sim/schedule.hpp"

namespace cosmo::sim {

/// Leapfrog in the frame of the Lagrangian trajectories: p holds only what perturbation theory does not know,
/// with the kick and drift factors of momentum ∝ u(a) = a^-2.5.
///
/// Background and ForceMesh must outlive it. Every member is collective.
/// Source: Tassev, Zaldarriaga & Eisenstein 2013 (arXiv:1301.0322), appendix A.
class ColaStepper {
 public:
  ColaStepper(const Background& background, ForceMesh& forces) : background_(background), forces_(forces) {}

  /// Moves Lagrangian particles (x = q, see lpt.hpp) to their positions of second order at a, with p = 0.
  void start(ParticleSet& particles, double a);
  /// Kicks and drifts. Throws Error{numeric} if a position is not a number or a cell of the force mesh
  /// overflows.
  void advance(ParticleSet& particles, const Step& step);
  /// Brings momenta, half a step behind, to the positions' time and adds what perturbation theory knows:
  /// p = a² dx/dt / H0. One more force; not needed by who wants positions only.
  void finish(ParticleSet& particles);

 private:
  void kick(ParticleSet& particles, double a_force, double a_from, double a_to);
  /// x += along_p p + along_psi1 psi1 + along_psi2 psi2, wrapped, and every particle to its owner.
  void displace(ParticleSet& particles, double along_p, double along_psi1, double along_psi2);

  const Background& background_;
  ForceMesh& forces_;
  double a_ = 0;         ///< of the positions
  double a_kicked_ = 0;  ///< of the momenta
};

}  // namespace cosmo::sim
