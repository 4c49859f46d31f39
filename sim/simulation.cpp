#include "sim/simulation.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdlib>
#include <numbers>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "sim/gravity/force_mesh.hpp"
#include "sim/linear/background.hpp"
#include "sim/linear/local_non_gaussianity.hpp"
#include "sim/nbody/integrator.hpp"
#include "sim/nbody/lpt.hpp"
#include "sim/nbody/redshift_space.hpp"

namespace cosmo::sim {

namespace {

/// Changes the modes to those of the field seen from half a lattice cell further along each axis. A wave at
/// the Nyquist wavenumber has no value there.
void move_half_a_cell(fourier::FourierMesh& delta) {
  const int n = delta.side();
  std::vector<std::complex<float>> phase;
  for (int k = 0; k <= n / 2; ++k) {
    phase.push_back(2 * k == n ? 0
                               : std::polar(1.0f, std::numbers::pi_v<float> * static_cast<float>(k) /
                                                      static_cast<float>(n)));
  }
  const auto of = [&](int k) {
    const auto value = phase[static_cast<std::size_t>(std::abs(k))];
    return k < 0 ? std::conj(value) : value;
  };
  delta.for_each_mode(
      [&](int kx, int ky, int kz, std::complex<float>& mode) { mode *= of(kx) * of(ky) * of(kz); });
}

TransferFunction transfer_of(const SimulationConfig& config) {
  const core::Cosmology& cosmology = config.universe.cosmology;
  return config.table ? transfer_function(*config.table, cosmology.n_s)
                      : find_transfer_function(config.transfer)(cosmology);
}

/// delta(k) today over the potential Φ(k) of the matter era.
std::function<double(double)> primordial_alpha(const SimulationConfig& config) {
  constexpr double kLargeScales = 1e-5;  // [h/Mpc], where formulas have T = 1
  const core::Cosmology& cosmology = config.universe.cosmology;
  return density_per_potential(transfer_of(config), config.table ? config.table->first_k : kLargeScales,
                               cosmology.omega_m, background_of(config).growth());
}

/// The particles of the lattice with their displacements. The field is freed before the force mesh is allocated.
ParticleSet initial_particles(const core::Communicator& comm, const SimulationConfig& config,
                              const Background& background, const Observers& observers) {
  const LinearPower power = linear_power(config);
  fourier::FourierMesh delta(comm, config.particle_grid());
  if (config.noise) {
    gaussian_field(delta, power, *config.noise, config.amplitude, config.partner);
  } else {
    gaussian_field(delta, power, config.universe.seed, config.amplitude, config.partner);
  }
  if (config.f_nl != 0) add_local_non_gaussianity(delta, config.f_nl, primordial_alpha(config));
  if (config.power_spectra && observers.initial) observers.initial(fourier::power_spectrum(delta), power);
  const auto n = static_cast<std::uint64_t>(config.particles_per_side);
  const auto first_plane = static_cast<std::uint64_t>(delta.slab().first);
  move_half_a_cell(delta);
  std::optional<ThirdOrderStart> third;
  if (config.lpt_order == 3) third.emplace(background, config.a_start());
  ParticleSet particles = lagrangian_particles(std::move(delta), third);
  if (config.ids && comm.size() > 1) particles.number(first_plane * n * n);
  return particles;
}

/// Moves particles by half a lattice cell, from the internal lattice i L/N to the lattice (i + 1/2) L/N of
/// the output. The internal nodes lie on the edges of voxels, where rounding would decide which voxel a
/// particle falls into that has hardly moved.
void leave_edges(ParticleSet& particles, const core::GridSpec& lattice) {
  const auto half = static_cast<float>(lattice.cell_size() / 2), box = static_cast<float>(lattice.box_size);
#pragma omp parallel for schedule(static)
  for (float& x : particles.x()) {
    const float moved = x + half;
    x = moved < box ? moved : moved - box;
  }
}

/// Measures what config asks for of the output's particles. Overwrites the force mesh.
void measure(Output& output, ForceMesh& forces, const SimulationConfig& config) {
  if (!config.power_spectra && !config.correlation_functions && !config.bispectra) return;
  constexpr auto kAssignment = fourier::MassAssignment::cloud_in_cell;
  output.power = forces.power_spectrum(output.particles, config.particles_per_side / 2);  // leaves the modes
  if (config.bispectra) {
    output.bispectrum = fourier::bispectrum(forces.mesh(), config.bispectrum_limit(), kAssignment);
  }
  if (config.correlation_functions) {
    output.correlation = fourier::correlation_function(forces.mesh(), kAssignment);
  }
}

/// Moves the particles from the end of a step to an earlier a, passes them on, and leaves them there.
void show(double redshift, ParticleSet& particles, const Stepper& stepper, ForceMesh& forces,
          const Background& background, const SimulationConfig& config, const Observers& observers) {
  const double a = 1 / (1 + redshift);
  stepper.drift_to(particles, a);
  if (config.momenta) stepper.finish(particles, a);
  if (config.descent.alpha != 0) descend(particles, forces, config.descent, config.universe.cosmology.sigma8);
  if (!config.line_of_sight.empty()) {
    const auto axis = static_cast<std::size_t>(config.line_of_sight.front() - 'x');
    to_redshift_space(particles, axis, 1 / (a * a * background.E(a)), forces.communicator(),
                      config.force_grid());
  }
  Output output{redshift, particles};
  measure(output, forces, config);
  leave_edges(particles, config.particle_grid());
  forces.release_order();  // makes room for what the observer needs
  if (observers.output) observers.output(output);
}

}  // namespace

Background background_of(const SimulationConfig& config) {
  const core::Cosmology& cosmology = config.universe.cosmology;
  return Background(cosmology, config.radiation ? radiation_density(cosmology.h) : 0);
}

LinearPower linear_power(const SimulationConfig& config) {
  return {config.universe.cosmology, transfer_of(config)};
}

void simulate(const core::Communicator& comm, const SimulationConfig& config, const Observers& observers) {
  comm.agree([&] { validate(config, comm.size()); });
  const Background background = background_of(config);
  ParticleSet particles = initial_particles(comm, config, background, observers);

  ForceMesh forces(comm, config.force_grid(), find_force_kernel(config.force_kernel));
  const auto stepper = find_integrator(config.integrator).make(background, forces);
  std::vector<double> waiting = config.redshifts;  // the earliest in time last
  std::ranges::sort(waiting);
  const auto show_until = [&](double a) {
    for (; !waiting.empty() && 1 / (1 + waiting.back()) <= a; waiting.pop_back()) {
      const bool end = waiting.size() == 1;
      if (!end) particles.keep(config.momenta);
      show(waiting.back(), particles, *stepper, forces, background, config, observers);
      if (end) continue;
      particles.restore();
      particles.move_to_owners(comm, config.force_grid());
    }
  };

  const std::vector<Step> steps = stepper->schedule(config.a_start(), config.steps);
  stepper->start(particles, config.particle_grid(), steps.front());
  show_until(steps.front().a_force);
  for (int i = 0; i < config.steps && !waiting.empty(); ++i) {
    const Step& step = steps[static_cast<std::size_t>(i)];
    forces.begin_step(i);
    stepper->advance(particles, step);
    if (observers.step) observers.step(step);
    show_until(step.a_next);
  }
}

void validate(const SimulationConfig& config, int ranks) {
  using core::ensure, core::Fault;
  const core::Cosmology& cosmology = config.universe.cosmology;
  core::validate(cosmology);
  ensure(!config.radiation || cosmology.omega_m + radiation_density(cosmology.h) <= 1, Fault::config,
         "--omega-m is {} and a flat universe with --radiation has room for at most {:.6g}: choose less.",
         cosmology.omega_m, 1 - radiation_density(cosmology.h));
  ensure(config.box_size >= 1 && config.box_size <= 1e5, Fault::config,
         "--box is {} Mpc/h: choose a value between 1 and 100000.", config.box_size);
  const int least = std::max(4, ranks);
  for (const auto& [name, value] :
       {std::pair("--particles", config.particles_per_side), std::pair("--mesh", config.mesh_per_side)}) {
    ensure(value >= least && value <= 8192, Fault::config,
           "{} is {} per side: choose a value between {} and 8192 (at least the number of ranks, and 4).",
           name, value, least);
  }
  ensure(config.mesh_per_side >= config.particles_per_side / kMostPerCell, Fault::config,
         "--mesh {} is too coarse for --particles {}: choose at least one cell for {} particles per side.",
         config.mesh_per_side, config.particles_per_side, kMostPerCell);
  const auto n = static_cast<std::uint64_t>(config.particles_per_side);
  ensure(n * n * n / static_cast<std::uint64_t>(ranks) < (std::uint64_t{1} << 31), Fault::config,
         "--particles {} puts more than 2^31 particles on a rank: use more ranks.",
         config.particles_per_side);
  ensure(config.steps >= 1 && config.steps <= 10000, Fault::config,
         "--steps is {}: choose a value between 1 and 10000.", config.steps);
  ensure(config.z_initial > 0 && config.z_initial <= 999, Fault::config,
         "--z-initial is {}: choose a value above 0 and up to 999.", config.z_initial);
  ensure(!config.redshifts.empty(), Fault::config, "--redshifts is empty: name one or more, such as 0.");
  for (const double redshift : config.redshifts) {
    ensure(redshift >= 0 && redshift <= config.z_initial, Fault::config,
           "--redshifts has {}: choose values from 0 to --z-initial, {}.", redshift, config.z_initial);
    ensure(std::ranges::count(config.redshifts, redshift) == 1, Fault::config,
           "--redshifts has {} twice: name it once.", redshift);
  }
  const int shells = fourier::shell_mesh_side(config.bispectrum_limit());
  ensure(!config.bispectra || ranks <= shells, Fault::config,
         "--bispectrum with --mesh {} can be shared by {} ranks: use at most that many, or leave it out.",
         config.mesh_per_side, shells);
  ensure(config.momenta || config.line_of_sight.empty(), Fault::internal, "Redshift space needs momenta.");
  constexpr double kMostNonGaussian = 1e4;  // f_NL φ is some 0.1 there
  ensure(std::abs(config.f_nl) <= kMostNonGaussian, Fault::config,
         "--f-nl is {}: choose a value between -{} and {}.", config.f_nl, kMostNonGaussian, kMostNonGaussian);
  if (config.table) {
    ensure_covers(*config.table, config.universe.cosmology.n_s, config.particle_grid());
    constexpr double kLargeScales = 5e-4;  // [h/Mpc]: T is 1 to 0.3 % there
    ensure(
        config.f_nl == 0 || config.table->first_k <= kLargeScales, Fault::config,
        "--transfer {} begins at k = {:.6g} h/Mpc and --f-nl needs it from {}, where T = 1: extend the table.",
        config.table->path, config.table->first_k, kLargeScales);
  } else {
    find_transfer_function(config.transfer);
  }
  find_force_kernel(config.force_kernel);
  find_integrator(config.integrator);
}

std::size_t predicted_memory_bytes(const SimulationConfig& config, int ranks, std::size_t of_observer) {
  const auto n = static_cast<std::size_t>(config.particles_per_side);
  const std::size_t planes = (n + static_cast<std::size_t>(ranks) - 1) / static_cast<std::size_t>(ranks);
  const std::size_t particles = planes * n * n;
  const bool keeps = config.redshifts.size() > 1;
  const bool displaced = find_integrator(config.integrator).keeps_displacements;
  const std::size_t columns = 2 + 2 * displaced + keeps + (keeps && config.momenta);
  const std::size_t ids = config.ids && ranks > 1 ? sizeof(std::uint64_t) : 0;
  const std::size_t field = fourier::FourierMesh::memory_bytes(config.particles_per_side, ranks);
  const std::size_t bispectrum =
      config.bispectra ? fourier::bispectrum_memory_bytes(config.bispectrum_limit(), ranks) : 0;
  const std::size_t displacements = particles * 6 * sizeof(float);
  const std::size_t values = planes * fourier::FourierMesh::plane_bytes(config.particles_per_side);
  const std::size_t exchanged = 4 * (field - values);  // of four meshes at once
  const std::size_t third =
      config.lpt_order == 3 ? std::max(14 * values, displacements + 7 * values) + exchanged : 0;
  const double dense = ranks == 1 ? 0 : 2 * rms_in_slabs(linear_power(config), config.box_size, ranks);
  const auto gathered = static_cast<std::size_t>(static_cast<double>(particles) * (1 + dense));
  const std::size_t order = ParticleOrder::memory_bytes(gathered);  // freed for the observer
  return std::max({third, displacements + 2 * field,                // then the meshes are freed
                   gathered * (columns * 3 * sizeof(float) + ids) +
                       ForceMesh::memory_bytes(config.mesh_per_side, gathered, ranks,
                                               find_force_kernel(config.force_kernel)) -
                       order + std::max(order + bispectrum, of_observer)});
}

}  // namespace cosmo::sim
