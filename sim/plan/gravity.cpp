#include "sim/plan/gravity.hpp"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "core/error.hpp"
#include "core/named.hpp"
#include "sim/gravity/force_kernel.hpp"
#include "sim/nbody/integrator.hpp"

namespace cosmo::sim {

using core::ensure, core::Fault;

namespace {

/// The k index at which the force mesh beats with the particles' lattice: for 64³ particles 20 Mpc/h apart,
/// meshes of 72 and 80 multiply P(k) by 5 and 14 there. Nothing if that is beyond what both resolve, as it is
/// for multiples of half the particles per side.
std::optional<int> beat(int mesh, int particles) {
  const int index = std::abs(mesh - particles);
  return index > 0 && 2 * index < std::min(particles, mesh) ? std::optional(index) : std::nullopt;
}

}  // namespace

void Gravity::declare(core::Options& options) {
  options.begin_group(core::kEveryDay);
  options.add("mesh N", std::nullopt, "cells per side of the force mesh [= particles]");
  options.begin_group("Gravity");
  options.add("integrator", std::string(kIntegrators.front().name),
              "how particles move: " + core::meanings_in(kIntegrators), core::names_in(kIntegrators));
  options.add("steps N", "10", "time steps");
  options.add("z-initial Z", "9", "redshift at which the steps begin");
  options.add_flag("radiation",
                   "photons of 2.7255 K and 3.046 massless neutrinos in the expansion and the growth");
  options.begin_group(core::kForExperts);
  options.add(
      "force-kernel", std::nullopt,
      fmt::format("differences that turn the potential into forces: {} [{}, but {} if the mesh is finer than "
                  "the particles]",
                  core::meanings_in(kForceKernels), best_force_kernel(1, 1), best_force_kernel(2, 1)),
      core::names_in(kForceKernels));
}

Gravity Gravity::read(const core::Options& options, const Box& box) {
  Gravity gravity;
  gravity.mesh_per_side =
      options.given("mesh") ? static_cast<int>(options.integer("mesh", 4, 8192)) : box.particles_per_side;
  gravity.force_kernel = options.given("force-kernel")
                             ? options.entry("force-kernel", kForceKernels).name
                             : best_force_kernel(gravity.mesh_per_side, box.particles_per_side);
  gravity.integrator = options.entry("integrator", kIntegrators).name;
  gravity.steps = static_cast<int>(options.integer("steps", 1, 10'000));
  gravity.z_initial = options.number("z-initial");
  gravity.radiation = options.flag("radiation");
  return gravity;
}

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
  ensure(z_initial > 0 && z_initial <= 999, Fault::config,
         "--z-initial is {}: choose a value above 0 and up to 999.", z_initial);
  find_force_kernel(force_kernel);
  find_integrator(integrator);
}

void Gravity::warn(const core::Log& log, const Box& box) const {
  const auto index = beat(mesh_per_side, box.particles_per_side);
  if (!index) return;
  log.warn(
      "--mesh {} beats with the lattice of --particles {}: where they have hardly moved, P(k) has a spike "
      "at {} times the box's fundamental; use a --mesh of 1, 1.5, 2 or 3 times the particles.",
      mesh_per_side, box.particles_per_side, *index);
}

void Gravity::identify(core::Json& config) const {
  config["mesh_per_side"] = mesh_per_side;
  config["force_kernel"] = force_kernel;
  config["steps"] = steps;
  config["z_initial"] = z_initial;
  // Requests without them have the ids of earlier versions.
  if (integrator != kIntegrators.front().name) config["integrator"] = integrator;
  if (radiation) config["radiation"] = true;
}

void Gravity::state(core::Facts& facts, const Box& box) const {
  core::set_length(facts, "mesh_cell", box.side / mesh_per_side);
  facts.insert_or_assign("force_kernel", force_kernel);
  facts.insert_or_assign("integrator", integrator);
  facts.insert_or_assign("steps", steps);
  facts.insert_or_assign("z_initial", z_initial);
  facts.insert_or_assign("radiation", radiation ? "on" : "off");
}

std::string Gravity::describe() const {
  return fmt::format("force mesh {}³, {} steps from z = {}", mesh_per_side, steps, z_initial);
}

Background Gravity::background(const core::Cosmology& cosmology) const {
  return Background(cosmology, radiation ? radiation_density(cosmology.h) : 0);
}

}  // namespace cosmo::sim
