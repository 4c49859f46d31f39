#pragma once

#include <vector>

#include "sim/gravity/force_mesh.hpp"
#include "sim/gravity/particle_set.hpp"
#include "sim/gravity/periodic_box.hpp"
#include "sim/linear/background.hpp"

namespace cosmo::sim {

/// One step, in scale factors: the force at a_force kicks from a_kick_from to a_kick_to, then positions drift
/// from a_force to a_next with the momentum at a_kick_to.
struct Step {
  double a_force;
  double a_next;
  double a_kick_from;
  double a_kick_to;
};

/// An integrator: moves particles from their Lagrangian lattice to today, one force a step.
///
/// What it keeps in the columns of a ParticleSet between start() and finish() is its own affair, except for x.
/// Background and ForceMesh must outlive it. Every member but schedule() is collective and throws
/// Error{numeric} if a position is not a number or a cell of the force mesh overflows.
class Stepper {
 public:
  Stepper(const Background& background, ForceMesh& forces) : background_(background), forces_(forces) {}
  Stepper(const Stepper&) = delete;
  Stepper& operator=(const Stepper&) = delete;
  virtual ~Stepper() = default;

  /// `steps` steps from a_start to today, a = 1.
  virtual std::vector<Step> schedule(double a_start, int steps) const = 0;
  /// Moves the particles of lagrangian_particles() from the nodes of `lattice` to the second-order positions at
  /// first.a_kick_from, and on to first.a_force.
  virtual void start(ParticleSet& particles, const core::GridSpec& lattice, const Step& first) = 0;
  /// Kicks and drifts in one pass over the particles.
  virtual void advance(ParticleSet& particles, const Step& step) = 0;
  /// Drifts the particles from the end of the last step to an earlier a within it.
  virtual void drift_to(ParticleSet& particles, double a) const = 0;
  /// Sets p = a² dx/dt / H0 [Mpc/h] at the time a of drift_to(). Takes one more force calculation if the
  /// last kick did not end there.
  virtual void finish(ParticleSet& particles, double a) const = 0;

 protected:
  void settle(ParticleSet& particles, bool stray) const {
    sim::settle(particles, stray, forces_.communicator(), forces_.grid());
  }

  const Background& background_;
  ForceMesh& forces_;
  double a_ = 0;         ///< scale factor of the positions
  double a_kicked_ = 0;  ///< scale factor of the momenta
};

}  // namespace cosmo::sim
