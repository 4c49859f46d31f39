#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "core/communicator.hpp"
#include "core/cosmology.hpp"
#include "core/grid.hpp"
#include "sim/gaussian_field.hpp"
#include "sim/particle_set.hpp"
#include "sim/schedule.hpp"

namespace cosmo::sim {

/// Everything that decides the outcome of one simulation; together with the program, bit by bit.
struct SimulationConfig {
  core::Cosmology cosmology;
  double box_size = 512;         ///< --box [Mpc/h]
  int particles_per_side = 256;  ///< --particles
  int mesh_per_side = 256;       ///< --mesh: cells of the force mesh; 2 to 3 times the particles resolve best
  int steps = 10;                ///< --steps, equal in a
  double z_initial = 9;          ///< --z-initial
  std::string transfer = "eisenstein-hu";
  std::string force_kernel = "four-point";
  Amplitude amplitude = Amplitude::random;
  std::uint64_t seed = 0;
  bool momenta = false;  ///< finish momenta too, for one more force

  core::GridSpec particle_grid() const { return {particles_per_side, box_size}; }
  core::GridSpec force_grid() const { return {mesh_per_side, box_size}; }
  double a_start() const { return 1 / (1 + z_initial); }
};

/// Throws Error{config} that names the option and the remedy if `ranks` processes cannot run the simulation.
void validate(const SimulationConfig& config, int ranks);

/// Called after each step with the particles at step.a_next, every one on the rank that owns its x in
/// force_grid().
using Observer = std::function<void(const Step& step, const ParticleSet& particles)>;

/// The particles today (a = 1). p is a² dx/dt / H0 [Mpc/h] if config.momenta, else only an intermediate
/// result. The same bits for any number of ranks and threads, up to the order of particles. Collective.
/// Throws Error{config} as validate(), Error{numeric} as ColaStepper::advance().
ParticleSet simulate(const core::Communicator& comm, const SimulationConfig& config,
                     const Observer& observe = {});

/// Memory that each of `ranks` processes needs [bytes], if particles stay evenly spread; to be told before a
/// run.
std::size_t predicted_memory_bytes(const SimulationConfig& config, int ranks);

}  // namespace cosmo::sim
