#include <catch2/catch.hpp>
#include <cmath>
#include <numbers>
#include <vector>

#include "core/error.hpp"
#include "sim/gravity/gradient_descent.hpp"
#include "sim/nbody/lpt.hpp"

using namespace cosmo;

TEST_CASE("gradient descent makes a plane wave higher by α F(k)") {
  const auto comm = core::Communicator::world();
  const core::GridSpec grid{32, 64};
  const double k = 2 * 2 * std::numbers::pi / grid.box_size, amplitude = 0.05, alpha = 0.5;
  const double long_wave = GENERATE(0.1, 0.3),
               short_wave = GENERATE(0.2, 0.3);  // beyond, the lattice has forces of its own
  fourier::FourierMesh delta(comm, grid);
  delta.for_each_row([&](int, int, float* row) {
    for (int z = 0; z < grid.cells_per_side; ++z)
      row[z] = static_cast<float>(-amplitude * k * std::cos(k * z * grid.cell_size()));
  });
  delta.forward();
  // Along z, so that every particle stays on its rank and in its place.
  auto particles = sim::lagrangian_particles(std::move(delta));
  sim::place(particles, grid, comm);
  const std::vector<float> q(particles.x().begin(), particles.x().end());
  for (std::size_t i = 0; i < q.size(); ++i) {
    const double wrapped = static_cast<double>(q[i]) + static_cast<double>(particles.psi1()[i]);
    particles.x()[i] = static_cast<float>(wrapped < 0 ? wrapped + grid.box_size : wrapped);
  }
  sim::ForceMesh forces(comm, grid, sim::find_force_kernel("deconvolved"));
  sim::descend(particles, forces, {alpha / 4, long_wave, short_wave, 2}, 1.7);  // α × 2²
  const double share = std::exp(-std::pow(long_wave / k, 2) - std::pow(k / short_wave, 4));
  double worst = 0;
  for (std::size_t i = 2; i < q.size(); i += 3) {
    const double moved =
        std::remainder(static_cast<double>(particles.x()[i]) - static_cast<double>(q[i]), grid.box_size);
    worst = std::max(
        worst, std::abs(moved - (1 + alpha * share) * amplitude * std::sin(k * static_cast<double>(q[i]))));
  }
  CHECK(comm.max(worst) < 0.01 * amplitude);
}

TEST_CASE("only settings that were fitted have a fit") {
  const auto alpha = [](std::string_view kernel, int lpt_order, double cell) {
    return sim::find_descent(kernel, lpt_order, 2, cell, 10).alpha;
  };
  CHECK(alpha("deconvolved", 3, 2.001) > alpha("four-point", 3, 1));
  CHECK(alpha("deconvolved", 3, 2) > alpha("alternating", 2, 2));
  CHECK_THROWS_AS(alpha("alternating", 2, 1), core::Error);
  CHECK_THROWS_AS(sim::find_descent("deconvolved", 3, 2, 2, 11), core::Error);
  CHECK_THROWS_AS(sim::find_descent("deconvolved", 3, 4, 4, 10), core::Error);
  CHECK_THROWS_AS(alpha("deconvolved", 2, 2), core::Error);
}
