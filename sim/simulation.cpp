#include "sim/simulation.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdlib>
#include <numbers>
#include <optional>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "sim/gravity/force_mesh.hpp"
#include "sim/linear/background.hpp"
#include "sim/linear/gaussian_field.hpp"
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

/// What stays the same during a run.
struct Run {
  const SimulationConfig& config;
  const core::Universe& universe;
  const Observers& observers;
  Background background = config.gravity.background(universe.cosmology);
  core::GridSpec lattice = config.particle_grid(universe.cosmology);
  core::GridSpec mesh = config.force_grid(universe.cosmology);
};

/// The particles of the lattice with their displacements. The field is freed before the force mesh is allocated.
ParticleSet initial_particles(const core::Communicator& comm, const Run& run) {
  const Start& start = run.config.start;
  const core::Cosmology& cosmology = run.universe.cosmology;
  const LinearPower power = start.power(cosmology);
  fourier::FourierMesh delta(comm, run.lattice);
  if (start.noise) {
    gaussian_field(delta, power, *start.noise, start.amplitude, start.partner);
  } else {
    gaussian_field(delta, power, run.universe.seed, start.amplitude, start.partner);
  }
  if (start.f_nl != 0)
    add_local_non_gaussianity(delta, start.f_nl, start.primordial_alpha(cosmology, run.background));
  if (run.config.contents.power_spectrum && run.observers.initial)
    run.observers.initial(fourier::power_spectrum(delta), power);
  if (run.config.contents.initial_field && run.observers.field) run.observers.field(delta);
  const auto n = static_cast<std::uint64_t>(run.lattice.cells_per_side);
  const auto first_plane = static_cast<std::uint64_t>(delta.slab().first);
  move_half_a_cell(delta);
  std::optional<ThirdOrderStart> third;
  if (start.lpt_order == 3) third.emplace(run.background, run.config.gravity.a_start());
  ParticleSet particles = lagrangian_particles(std::move(delta), third);
  if (run.config.contents.ids && comm.size() > 1) particles.number(first_plane * n * n);
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

/// Measures what the output shall contain of its particles. Overwrites the force mesh.
void measure(Output& output, ForceMesh& forces, const SimulationConfig& config) {
  const Contents& contents = config.contents;
  if (!contents.measures()) return;
  constexpr auto kAssignment = fourier::MassAssignment::cloud_in_cell;
  output.power =
      forces.power_spectrum(output.particles, config.box.particles_per_side / 2);  // leaves the modes
  if (contents.bispectrum) {
    output.bispectrum = fourier::bispectrum(forces.mesh(), config.bispectrum_limit(), kAssignment);
  }
  if (contents.correlation_function) {
    output.correlation = fourier::correlation_function(forces.mesh(), kAssignment);
  }
}

/// Moves the particles from the end of a step to an earlier a, passes them on, and leaves them there.
void show(double redshift, ParticleSet& particles, const Stepper& stepper, ForceMesh& forces,
          const Run& run) {
  const Outputs& outputs = run.config.outputs;
  const double a = 1 / (1 + redshift);
  stepper.drift_to(particles, a);
  if (run.config.keeps_momenta()) stepper.finish(particles, a);
  const GradientDescent& descent = run.config.gravity.descent;
  if (descent.alpha != 0) descend(particles, forces, descent, run.universe.cosmology.sigma8);
  if (run.config.contents.real_space && run.observers.real_space) {
    forces.release_order();  // makes room for what the observer needs
    run.observers.real_space({redshift, particles});
  }
  if (!outputs.line_of_sight.empty()) {
    const auto axis = static_cast<std::size_t>(outputs.line_of_sight.front() - 'x');
    to_redshift_space(particles, axis, 1 / (a * a * run.background.E(a)), forces.communicator(), run.mesh);
  }
  Output output{redshift, particles};
  measure(output, forces, run.config);
  leave_edges(particles, run.lattice);
  forces.release_order();
  if (run.observers.output) run.observers.output(output);
}

}  // namespace

void simulate(const core::Communicator& comm, const SimulationConfig& config, const core::Universe& universe,
              const Observers& observers) {
  comm.agree([&] { validate(config, universe.cosmology, comm.size()); });
  const Gravity& gravity = config.gravity;
  const Run run{config, universe, observers};
  ParticleSet particles = initial_particles(comm, run);

  ForceMesh forces(comm, run.mesh, find_force_kernel(gravity.force_kernel));
  const auto stepper = find_integrator(gravity.integrator).make(run.background, forces);
  std::vector<double> waiting = config.outputs.redshifts;  // the earliest in time last
  std::ranges::sort(waiting);
  const auto show_until = [&](double a) {
    for (; !waiting.empty() && 1 / (1 + waiting.back()) <= a; waiting.pop_back()) {
      const bool end = waiting.size() == 1;
      if (!end) particles.keep(config.keeps_momenta());
      show(waiting.back(), particles, *stepper, forces, run);
      if (end) continue;
      particles.restore();
      particles.move_to_owners(comm, run.mesh);
    }
  };

  const std::vector<Step> steps = stepper->schedule(gravity.a_start(), gravity.steps);
  stepper->start(particles, run.lattice, steps.front());
  show_until(steps.front().a_force);
  for (int i = 0; i < gravity.steps && !waiting.empty(); ++i) {
    const Step& step = steps[static_cast<std::size_t>(i)];
    forces.begin_step(i);
    stepper->advance(particles, step);
    if (observers.step) observers.step(step);
    show_until(step.a_next);
  }
}

void validate(const SimulationConfig& config, const core::Cosmology& cosmology, int ranks) {
  core::validate(cosmology);
  config.box.check(cosmology.h, ranks);
  config.gravity.check(cosmology, config.box, ranks);
  config.outputs.check(config.gravity.z_initial, config.box);
  config.start.check(cosmology, config.box);
  const int shells = fourier::shell_mesh_side(config.bispectrum_limit());
  core::ensure(
      !config.contents.bispectrum || ranks <= shells, core::Fault::config,
      "--save bispectrum with --mesh {} can be shared by {} ranks: use at most that many, or leave it out.",
      config.gravity.mesh_per_side, shells);
}

double relative_cost(const Box& box, const Gravity& gravity) {
  constexpr double kStart = 23, kStep = 1.9;  // of a particle: initial field and outputs; a step
  const double particles = std::pow(box.particles_per_side, 3), cells = std::pow(gravity.mesh_per_side, 3);
  return particles * (kStart + kStep * gravity.steps) + cells * gravity.steps;
}

int useful_threads(const Box& box) {
  constexpr std::int64_t kEach = 4096;
  const std::int64_t n = box.particles_per_side;
  return static_cast<int>(std::clamp<std::int64_t>(n * n * n / kEach, 1, 4096));
}

std::size_t predicted_memory_bytes(const SimulationConfig& config, const core::Cosmology& cosmology,
                                   int ranks, std::size_t of_observer) {
  const int side = config.box.particles_per_side;
  const auto n = static_cast<std::size_t>(side);
  const std::size_t planes = (n + static_cast<std::size_t>(ranks) - 1) / static_cast<std::size_t>(ranks);
  const std::size_t particles = planes * n * n;
  const bool keeps = config.outputs.redshifts.size() > 1;
  const bool displaced = find_integrator(config.gravity.integrator).keeps_displacements;
  const std::size_t columns = 2 + 2 * displaced + keeps + (keeps && config.keeps_momenta());
  const std::size_t ids = config.contents.ids && ranks > 1 ? sizeof(std::uint64_t) : 0;
  const std::size_t field = fourier::FourierMesh::memory_bytes(side, ranks);
  const std::size_t bispectrum =
      config.contents.bispectrum ? fourier::bispectrum_memory_bytes(config.bispectrum_limit(), ranks) : 0;
  const std::size_t displacements = particles * 6 * sizeof(float);
  const std::size_t values = planes * fourier::FourierMesh::plane_bytes(side);
  const std::size_t exchanged = 4 * (field - values);  // of four meshes at once
  const std::size_t third =
      config.start.lpt_order == 3 ? std::max(14 * values, displacements + 7 * values) + exchanged : 0;
  const double dense =
      ranks == 1 ? 0
                 : 2 * rms_in_slabs(config.start.power(cosmology), config.box.side.mpc_h(cosmology.h), ranks);
  const auto gathered = static_cast<std::size_t>(static_cast<double>(particles) * (1 + dense));
  const std::size_t order = ParticleOrder::memory_bytes(gathered);  // freed for the observer
  return std::max({third, displacements + 2 * field,                // then the meshes are freed
                   gathered * (columns * 3 * sizeof(float) + ids) +
                       ForceMesh::memory_bytes(config.gravity.mesh_per_side, gathered, ranks,
                                               find_force_kernel(config.gravity.force_kernel)) -
                       order + std::max(order + bispectrum, of_observer)});
}

}  // namespace cosmo::sim
