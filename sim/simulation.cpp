#include "sim/simulation.hpp"

#include <algorithm>
#include <utility>

#include "core/error.hpp"
#include "sim/background.hpp"
#include "sim/cola_stepper.hpp"
#include "sim/force_mesh.hpp"
#include "sim/lpt.hpp"

namespace cosmo::sim {

ParticleSet simulate(const core::Communicator& comm, const SimulationConfig& config,
                     const Observer& observe) {
  validate(config, comm.size());
  const Background background(config.cosmology);
  const LinearPower power(config.cosmology, find_transfer_function(config.transfer)(config.cosmology));

  fourier::FourierMesh delta(comm, config.particle_grid());
  gaussian_field(delta, power, config.seed, config.amplitude);
  ParticleSet particles =
      lagrangian_particles(std::move(delta));  // frees the field before the force mesh exists

  ForceMesh forces(comm, config.force_grid(), find_force_kernel(config.force_kernel));
  ColaStepper cola(background, forces);
  cola.start(particles, config.a_start());
  for (const Step& step : schedule(config.a_start(), 1.0, config.steps)) {
    cola.advance(particles, step);
    if (observe) observe(step, particles);
  }
  if (config.momenta) cola.finish(particles);
  return particles;
}

void validate(const SimulationConfig& config, int ranks) {
  using core::ensure, core::Fault;
  core::validate(config.cosmology);
  ensure(config.box_size >= 1 && config.box_size <= 1e5, Fault::config,
         "--box is {} Mpc/h: choose a value between 1 and 100000.", config.box_size);
  const int least = std::max(4, ranks);
  for (const auto& [name, value] :
       {std::pair("--particles", config.particles_per_side), std::pair("--mesh", config.mesh_per_side)}) {
    ensure(value >= least && value <= 8192, Fault::config,
           "{} is {} per side: choose a value between {} and 8192 (at least the number of ranks, and 4).",
           name, value, least);
  }
  const auto n = static_cast<std::uint64_t>(config.particles_per_side);
  ensure(n * n * n / static_cast<std::uint64_t>(ranks) < (std::uint64_t{1} << 31), Fault::config,
         "--particles {} puts more than 2^31 particles on a rank: use more ranks.",
         config.particles_per_side);
  ensure(config.steps >= 1 && config.steps <= 10000, Fault::config,
         "--steps is {}: choose a value between 1 and 10000.", config.steps);
  ensure(config.z_initial > 0 && config.z_initial <= 999, Fault::config,
         "--z-initial is {}: choose a value above 0 and up to 999.", config.z_initial);
  find_transfer_function(config.transfer);
  find_force_kernel(config.force_kernel);
}

std::size_t predicted_memory_bytes(const SimulationConfig& config, int ranks) {
  const auto share = [ranks](int side) {
    const auto n = static_cast<std::size_t>(side);
    return (n + static_cast<std::size_t>(ranks) - 1) / static_cast<std::size_t>(ranks) * n * n;
  };
  constexpr std::size_t kColumns = 4 * 3 * sizeof(float);  // x, p, psi1, psi2
  constexpr std::size_t kOrder = sizeof(std::uint32_t);    // the particles sorted by plane for the deposit
  const std::size_t particles = share(config.particles_per_side);
  const std::size_t initial = 3 * fourier::FourierMesh::slab_bytes(config.particles_per_side, ranks);
  const auto mesh_rows = static_cast<std::size_t>(config.mesh_per_side);
  const std::size_t plane = fourier::FourierMesh::slab_bytes(config.mesh_per_side, config.mesh_per_side);
  const std::size_t halo = ranks > 1 ? 10 * plane : 2 * plane;
  const std::size_t transpose =
      ranks > 1
          ? 2 * std::max(std::size_t{32} << 20, 64 * mesh_rows * mesh_rows / static_cast<std::size_t>(ranks))
          : 0;
  const std::size_t forces = fourier::FourierMesh::slab_bytes(config.mesh_per_side, ranks) + halo;
  return particles * kColumns + transpose + std::max(initial, forces + particles * kOrder);
}

}  // namespace cosmo::sim
