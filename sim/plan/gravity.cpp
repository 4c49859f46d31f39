#include "sim/plan/gravity.hpp"

#include "core/error.hpp"
#include "sim/gravity/force_kernel.hpp"
#include "sim/nbody/integrator.hpp"

namespace cosmo::sim {

using core::ensure, core::Fault;

void Gravity::check(const core::Cosmology& cosmology, const Box& box, int ranks) const {
  ensure(!radiation || cosmology.omega_m + radiation_density(cosmology.h) <= 1, Fault::config,
         "--omega-m is {} and a flat universe with --radiation has room for at most {:.6g}: choose less.",
         cosmology.omega_m, 1 - radiation_density(cosmology.h));
  check_grid("--mesh", mesh_per_side, ranks);
  ensure(mesh_per_side >= box.particles_per_side / kMostPerCell, Fault::config,
         "--mesh {} is too coarse for --particles {}: choose at least one cell for {} particles per side.",
         mesh_per_side, box.particles_per_side, kMostPerCell);
  ensure(steps >= 1 && steps <= 10000, Fault::config, "--steps is {}: choose a value between 1 and 10000.",
         steps);
  ensure(z_initial > 0 && z_initial <= kEarliestStart, Fault::config,
         "--z-initial is {}: choose a value above 0 and up to {}.", z_initial, kEarliestStart);
  find_force_kernel(force_kernel);
  find_integrator(integrator);
}

void Gravity::state(core::Facts& facts, const Box& box) const {
  core::set_length(facts, "mesh_cell", box.side / mesh_per_side);
  facts.insert_or_assign("force_kernel", force_kernel);
  facts.insert_or_assign("integrator", integrator);
  facts.insert_or_assign("steps", steps);
  facts.insert_or_assign("z_initial", z_initial);
  facts.insert_or_assign("radiation", radiation ? "on" : "off");
  facts.insert_or_assign("gradient_descent", text_of(descent));
}

Background Gravity::background(const core::Cosmology& cosmology) const {
  return Background(cosmology, radiation ? radiation_density(cosmology.h) : 0);
}

}  // namespace cosmo::sim
