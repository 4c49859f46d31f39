#include <catch2/catch.hpp>
#include <cmath>

#include "core/fourier/fourier_mesh.hpp"
#include "sim/cola_stepper.hpp"
#include "sim/lpt.hpp"
#include "sim/simulation.hpp"

using namespace cosmo;

namespace {

sim::SimulationConfig small_config() {
  sim::SimulationConfig config;
  config.box_size = 128;
  config.particles_per_side = 32;
  config.mesh_per_side = 64;
  config.seed = 7;
  return config;
}

}  // namespace

TEST_CASE("a run keeps every particle in the box and on its owner, and total momentum at zero") {
  const auto comm = core::Communicator::world();
  auto config = small_config();
  config.momenta = true;
  int steps = 0;
  std::int64_t misplaced = 0;
  const core::Slab slab = core::slab_of(config.mesh_per_side, comm.rank(), comm.size());
  const auto particles = sim::simulate(comm, config, [&](const sim::Step&, const sim::ParticleSet& now) {
    ++steps;
    CHECK(comm.sum(static_cast<std::int64_t>(now.size())) == 32 * 32 * 32);
    const auto inverse = static_cast<float>(config.mesh_per_side / config.box_size);
    for (std::size_t i = 0; i < now.size(); ++i) {
      misplaced += !slab.contains(sim::cell_of(now.x()[3 * i], inverse, config.mesh_per_side));
      for (std::size_t c = 0; c < 3; ++c) misplaced += !(now.x()[3 * i + c] >= 0 && now.x()[3 * i + c] < 128);
    }
  });
  CHECK(steps == config.steps);
  CHECK(comm.sum(misplaced) == 0);

  double sums[] = {0, 0, 0, 0};
  for (std::size_t i = 0; i < particles.size(); ++i) {
    for (std::size_t c = 0; c < 3; ++c) {
      const auto p = static_cast<double>(particles.p()[3 * i + c]);
      sums[c] += p;
      sums[3] += p * p;
    }
  }
  comm.sum(std::span<double>(sums));
  const double count = 32 * 32 * 32, rms = std::sqrt(sums[3] / count);
  CHECK(rms > 1);  // [Mpc/h], as a² dx/dt / H0 of a few hundred km/s
  for (std::size_t c = 0; c < 3; ++c) {
    INFO("mean momentum / rms: " << sums[c] / count / rms);
    CHECK(std::abs(sums[c] / count) < 1e-5 * rms);
  }
}

TEST_CASE("small fluctuations grow as linear theory says") {
  const auto comm = core::Communicator::world();
  if (comm.size() > 1) return;  // pairs particles with their Lagrangian nodes by order
  // Power times 1e-4: the cosmology that simulate() would refuse, step by step.
  core::Cosmology cosmology;
  cosmology.sigma8 *= 0.01;
  const int n = 64;
  const core::GridSpec grid = {n, 512};
  fourier::FourierMesh delta(comm, grid);
  sim::gaussian_field(delta, {cosmology, sim::eisenstein_hu(cosmology)}, 11);
  auto particles = sim::lagrangian_particles(std::move(delta));
  const sim::Background background(cosmology);
  sim::ForceMesh forces(comm, {3 * n, grid.box_size}, sim::find_force_kernel("four-point"));
  sim::ColaStepper cola(background, forces);
  cola.start(particles, 0.1);
  for (const auto& step : sim::schedule(0.1, 1, 10)) cola.advance(particles, step);

  // Displacements x - q and psi1 in Fourier space; their cross power over psi1's own is the growth since a =
  // 0.
  const double edges[] = {0.05, 0.2};
  double cross[] = {0, 0}, self[] = {0, 0};
  fourier::FourierMesh moved(comm, grid), linear(comm, grid);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    linear.for_each_row([&](int x, int y, float* row) {
      for (int z = 0; z < n; ++z) {
        const auto i = static_cast<std::size_t>((x * n + y) * n + z);
        const int node[] = {x, y, z};
        const double d = static_cast<double>(particles.x()[3 * i + axis]) - node[axis] * grid.cell_size();
        moved.row(x, y)[z] = static_cast<float>(d - grid.box_size * std::round(d / grid.box_size));
        row[z] = particles.psi1()[3 * i + axis];
      }
    });
    moved.forward();
    linear.forward();
    linear.for_each_mode([&](int kx, int ky, int kz, std::complex<float>& mode) {
      const double k = linear.fundamental() * std::hypot(kx, ky, kz);
      const std::complex<double> from(mode), to(moved.mode_row(kx, ky)[kz]);
      const int copies = kz == 0 ? 1 : 2;
#pragma omp critical
      for (std::size_t bin = 0; bin < 2; ++bin) {
        if (k == 0 || k >= edges[bin] || (bin > 0 && k < edges[bin - 1])) continue;
        cross[bin] += copies * std::real(to * std::conj(from));
        self[bin] += copies * std::norm(from);
      }
    });
  }
  INFO("growth over D1: " << cross[0] / self[0] << " for k < 0.05, " << cross[1] / self[1] << " for k < 0.2");
  CHECK(cross[0] / self[0] == Approx(1).margin(0.002));
  CHECK(cross[1] / self[1] == Approx(1).margin(0.005));
}
