// Time of each part of a simulator's step, compared with the time that the memory needs to move the bytes that the
// part cannot avoid.

#include <functional>
#include <string>
#include <vector>

#include "bench/stream_copy.hpp"
#include "core/median.hpp"
#include "core/named.hpp"
#include "core/run/tool.hpp"
#include "core/timer.hpp"
#include "sim/gravity/force_kernel.hpp"
#include "sim/nbody/integrator.hpp"
#include "sim/nbody/lpt.hpp"
#include "sim/simulation.hpp"

namespace {

using namespace cosmo;

/// Usual estimate of the bytes per particle and step that a COLA code moves with one mesh cell per particle, and those of them
/// that are its displacements.
constexpr double kStepBytes = 240, kDisplacements = 24;

struct Kernel {
  std::string name;
  double bytes;  ///< bytes per particle that must come from memory or go there
  std::function<void()> run;
  std::function<void()> prepare = [] {};  ///< before each run, not timed
};

double median_seconds(
    int repeats, const std::function<void()>& run, const std::function<void()>& prepare = [] {}) {
  std::vector<double> seconds;
  for (int i = 0; i < repeats; ++i) {
    prepare();
    const core::Timer timer;
    run();
    seconds.push_back(timer.seconds());
  }
  return core::median(seconds);
}

void declare(core::Options& options) {
  options.add("particles N", "256", "particles per side");
  options.add("mesh N", std::nullopt, "cells per side of the force mesh [= particles]");
  options.add("integrator", std::string(sim::kIntegrators.front().name),
              "how particles move: " + core::meanings_in(sim::kIntegrators),
              core::names_in(sim::kIntegrators));
  options.add("spacing X", "2", "distance between the particles, Mpc/h");
  options.add("repeat N", "5", "number of times each part is run; the median counts");
  options.add("copy N", "512", "MiB copied to measure the memory's speed: more than caches hold");
}

/// Any density contrast: if the mesh kept the potential, it would grow with each solution until it overflows.
void fill_with_contrast(fourier::FourierMesh& mesh) {
  const core::Slab slab = mesh.slab();
  for (int x = slab.first; x < slab.last; ++x) {
    for (int y = 0; y < mesh.side(); ++y) {
      float* row = mesh.row(x, y);
      for (int z = 0; z < mesh.side(); ++z) row[z] = static_cast<float>((5 * x + 3 * y + z) % 7 - 3);
    }
  }
}

/// Particles at z = 0 at the end of a run: clustered, far from their lattice.
void run_benchmark(const core::Invocation& run) {
  sim::SimulationConfig config;
  config.box.particles_per_side = static_cast<int>(run.options.integer("particles", 4, 4096));
  config.gravity.mesh_per_side = run.options.given("mesh")
                                     ? static_cast<int>(run.options.integer("mesh", 4, 8192))
                                     : config.box.particles_per_side;
  config.gravity.force_kernel =
      sim::best_force_kernel(config.gravity.mesh_per_side, config.box.particles_per_side);
  config.box.side = core::Length(run.options.number("spacing") * config.box.particles_per_side);
  const int repeats = static_cast<int>(run.options.integer("repeat", 1, 1000));
  const double rate =
      bench::stream_copy_rate(static_cast<std::size_t>(run.options.integer("copy", 1, 1 << 20)) << 20);

  const core::Cosmology cosmology;
  const sim::Background background(cosmology);
  fourier::FourierMesh delta(run.comm, config.particle_grid(cosmology));
  sim::gaussian_field(delta, {cosmology, sim::eisenstein_hu(cosmology)}, 1);
  auto particles = sim::lagrangian_particles(std::move(delta));
  sim::ForceMesh forces(run.comm, config.force_grid(cosmology),
                        sim::find_force_kernel(config.gravity.force_kernel));
  const sim::Integrator& integrator = run.options.entry("integrator", sim::kIntegrators);
  const auto stepper = integrator.make(background, forces);
  const auto steps = stepper->schedule(config.gravity.a_start(), 10);
  stepper->start(particles, config.particle_grid(cosmology), steps.front());
  std::vector<double> step_seconds;
  for (const sim::Step& step : steps) {
    step_seconds.push_back(median_seconds(1, [&] { stepper->advance(particles, step); }));
  }

  sim::ParticleOrder order(forces.grid(), forces.mesh().slab());
  const double cells =
      std::pow(static_cast<double>(config.gravity.mesh_per_side) / config.box.particles_per_side, 3);
  // Like a kick and a drift, but by zero.
  float *x = particles.x().data(), *p = particles.p().data();
  const float *psi1 = particles.psi1().data(), *psi2 = particles.psi2().data();
  const auto drift_a_little = [=, &integrator](const sim::Group& i, const sim::Vectors& position,
                                               const sim::Vectors& g) {
    sim::Vectors moved = position;
    if (integrator.keeps_displacements) moved = moved + 1e-30f * (sim::load3(psi1, i) + sim::load3(psi2, i));
    const sim::Vectors momentum = sim::load3(p, i) + 1e-30f * g;
    sim::store3(p, i, momentum);
    sim::store3(x, i, moved + 1e-30f * momentum);
  };
  const double displacements = integrator.keeps_displacements ? kDisplacements : 0;
  const std::vector<Kernel> kernels = {
      {"sort", 2 * 12 + 4, [&] { order.sort(particles); }},
      {"sort, deposit", 2 * 12 + 4 + 12 + 4 + 8 * cells, [&] { forces.deposit(particles); }},
      {"solve", 24 * cells, [&] { forces.solve_density({}); }, [&] { fill_with_contrast(forces.mesh()); }},
      {"gather, kick, drift", 4 + 4 * cells + 48 + displacements,
       [&] { forces.gather_again(particles, drift_a_little); }}};

  const auto count = static_cast<double>(config.particle_grid(cosmology).cells());
  std::string text = fmt::format("{}³ particles, mesh {}³, {} ranks x {} threads; copy {:.1f} GB/s\n",
                                 config.box.particles_per_side, config.gravity.mesh_per_side, run.comm.size(),
                                 run.threads, rate / 1e9);
  text += fmt::format("{:<22} {:>9} {:>9} {:>7}\n", "", "ms", "floor ms", "ratio");
  core::Json summary = {{"copy_bytes_per_second", rate}};
  const auto line = [&](const std::string& name, double seconds, double bytes) {
    const double floor = bytes * count / rate;
    text +=
        fmt::format("{:<22} {:>9.1f} {:>9.1f} {:>7.2f}\n", name, 1e3 * seconds, 1e3 * floor, seconds / floor);
    summary[name] = {{"seconds", seconds}, {"floor_seconds", floor}, {"ratio", seconds / floor}};
  };
  for (const Kernel& kernel : kernels)
    line(kernel.name, median_seconds(repeats, kernel.run, kernel.prepare), kernel.bytes);
  line("step", core::median(step_seconds), kStepBytes - kDisplacements + displacements);
  run.report(summary, text);
}

}  // namespace

int main(int argc, char** argv) {
  return core::run_tool(argc, argv,
                        {"bench-sim-step",
                         "the parts of a step of the simulator compared with the memory's speed",
                         {fourier::library_version()},
                         {{"", "times one step and its parts", "bench-sim-step --particles 256", false,
                           core::OnStop::end, &declare, &run_benchmark}}});
}
