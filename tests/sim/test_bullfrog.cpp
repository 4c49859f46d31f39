// BullFrog against perturbation theory and against COLA. On one rank: particles keep their order.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numbers>
#include <vector>

#include "core/fourier/power_spectrum.hpp"
#include "sim/nbody/integrator.hpp"
#include "sim/nbody/lpt.hpp"
#include "sim/simulation.hpp"
#include "tests/support/density_contrast.hpp"

using namespace cosmo;

namespace {

constexpr int kSide = 64, kMesh = 32;
constexpr double kBox = 100, kWave = 2 * std::numbers::pi / kBox, kStart = 0.1;
const core::GridSpec kLattice = {kSide, kBox};

/// What has become at a = 1 of particles on a lattice.
struct Outcome {
  std::vector<double> moved;     ///< x - q
  std::vector<double> momentum;  ///< p
  double second_growth;          ///< D2 of exact velocities dD2/dD1 and steps that are trapezoids
};

/// Moves the particles of the density contrast f(x, y, z), in cells, from kStart to today.
template <class F>
Outcome run(const core::Communicator& comm, const sim::Background& background, int steps, F f) {
  fourier::FourierMesh delta(comm, kLattice);
  delta.for_each_row([&](int x, int y, float* row) {
    for (int z = 0; z < kSide; ++z) row[z] = static_cast<float>(f(x, y, z));
  });
  delta.forward();
  auto particles = sim::lagrangian_particles(std::move(delta));
  // The force on long waves is exact: the window is undone, and there are eight particles per cell.
  sim::ForceMesh forces(comm, {kMesh, kBox}, sim::find_force_kernel("deconvolved"));
  sim::BullFrogStepper stepper(background, forces);
  const auto schedule = stepper.schedule(kStart, steps);
  stepper.start(particles, kLattice, schedule.front());
  CHECK(particles.psi1().empty());
  CHECK(particles.psi2().empty());
  const auto slope = [&](double a) { return background.T_D2(a) / background.T_D1(a); };
  Outcome outcome{{}, {}, background.D2(kStart)};
  for (const sim::Step& step : schedule) {
    stepper.advance(particles, step);
    outcome.second_growth += (background.D1(step.a_kick_to) - background.D1(step.a_kick_from)) / 2 *
                             (slope(step.a_kick_from) + slope(step.a_kick_to));
  }
  stepper.finish(particles, 1);
  outcome.momentum.assign(particles.p().begin(), particles.p().end());
  for (const float x : particles.x()) outcome.moved.push_back(static_cast<double>(x));
  sim::for_each_node(kLattice, comm, [&](std::size_t i, const sim::Vector4& q) {
    for (int c = 0; c < 3; ++c) {
      double& moved = outcome.moved[3 * i + static_cast<std::size_t>(c)];
      moved = std::remainder(moved - static_cast<double>(q[c]), kBox);
    }
  });
  return outcome;
}

/// The factor by which `pattern` fits `values` best.
double fit(const std::vector<double>& values, const std::vector<double>& pattern) {
  double product = 0, square = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    product += values[i] * pattern[i];
    square += pattern[i] * pattern[i];
  }
  return product / square;
}

}  // namespace

TEST_CASE("few steps of BullFrog follow second-order perturbation theory") {
  const auto comm = core::Communicator::world();
  const core::Cosmology cosmology;
  const sim::Background background(cosmology);
  const int steps = GENERATE(1, 2, 5);
  // Three plane waves, and the same of the other sign: half the sum of what they do is of second order, half
  // the difference of first.
  const double e = 0.02;
  const auto waves = [&](double amplitude) {
    return run(comm, background, steps, [=](int x, int y, int z) {
      const double cell = kWave * kBox / kSide;
      return amplitude * (std::cos(cell * x) + std::cos(cell * y) + std::cos(cell * z));
    });
  };
  const Outcome plus = waves(e), minus = waves(-e);
  std::vector<double> psi1(plus.moved.size()), psi2(psi1);
  sim::for_each_node(kLattice, comm, [&](std::size_t i, const sim::Vector4& q) {
    const auto at = [&](std::size_t c) { return kWave * static_cast<double>(q[static_cast<int>(c % 3)]); };
    for (std::size_t c = 0; c < 3; ++c) {
      psi1[3 * i + c] = -e / kWave * std::sin(at(c));
      psi2[3 * i + c] = e * e / (2 * kWave) * std::sin(at(c)) * (std::cos(at(c + 1)) + std::cos(at(c + 2)));
    }
  });
  const auto half = [](const std::vector<double>& a, const std::vector<double>& b, double sign) {
    std::vector<double> result;
    for (std::size_t i = 0; i < a.size(); ++i) result.push_back((a[i] + sign * b[i]) / 2);
    return result;
  };
  const double x1 = fit(half(plus.moved, minus.moved, -1), psi1) / background.D1(1);
  const double p1 = fit(half(plus.momentum, minus.momentum, -1), psi1) / background.T_D1(1);
  const double x2 = fit(half(plus.moved, minus.moved, 1), psi2) / plus.second_growth;
  const double p2 = fit(half(plus.momentum, minus.momentum, 1), psi2) / background.T_D2(1);
  INFO(steps << " steps: first order " << x1 << ", " << p1 << ", second " << x2 << ", " << p2);
  CHECK(x1 == Approx(1).margin(0.002));
  CHECK(p1 == Approx(1).margin(0.002));
  CHECK(x2 == Approx(1).margin(0.003));
  CHECK(p2 == Approx(1).margin(0.003));
  CHECK(plus.second_growth == Approx(background.D2(1)).epsilon(0.015 / (steps * steps)));
}

TEST_CASE("BullFrog moves a plane wave as Zel'dovich's solution") {
  const auto comm = core::Communicator::world();
  const sim::Background background(core::Cosmology{});
  const double amplitude = 4;  // psi1 = A sin kq; A k = 0.25
  const Outcome outcome = run(comm, background, 5, [=](int x, int, int) {
    return -amplitude * kWave * std::cos(kWave * x * kBox / kSide);
  });
  std::vector<double> expected(outcome.moved.size(), 0.0);
  sim::for_each_node(kLattice, comm, [&](std::size_t i, const sim::Vector4& q) {
    expected[3 * i] = amplitude * std::sin(kWave * static_cast<double>(q[0]));
  });
  double worst = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    worst = std::max(worst, std::abs(outcome.moved[i] - expected[i]));
  }
  // Sheets of particles that cross the mesh together feel more of its cells than any particles elsewhere.
  const double cell = kBox / kMesh;
  INFO("amplitude " << fit(outcome.moved, expected) << ", largest error " << worst / cell << " cells");
  CHECK(fit(outcome.moved, expected) == Approx(1).margin(0.005));
  CHECK(worst < 0.06 * cell);
}

TEST_CASE("with many steps COLA, BullFrog and FastPM agree, and few steps converge") {
  const auto comm = core::Communicator::world();
  const auto power = [&](const char* integrator, int steps) {
    sim::SimulationConfig config;
    config.box.side = core::Length(64);
    config.box.particles_per_side = 32;
    config.gravity.mesh_per_side = 64;
    config.start.amplitude = sim::Amplitude::fixed;
    config.gravity.integrator = integrator;
    config.gravity.steps = steps;
    fourier::FourierMesh mesh(comm, {64, config.box.side.value});
    sim::simulate(comm, config, {},
                  {.output = [&](const sim::Output& output) { density_contrast(mesh, output.particles); }});
    mesh.forward();
    return fourier::power_spectrum(mesh);
  };
  const auto reference = power("cola", 80);
  const auto worst = [&](int steps, const char* integrator = "bullfrog") {
    const auto found = power(integrator, steps);
    double largest = 0;
    for (std::size_t bin = 0; found.k[bin] < 1; ++bin) {
      largest = std::max(largest, std::abs(found.power[bin] / reference.power[bin] - 1));
    }
    return largest;
  };
  const double five = worst(5), ten = worst(10), twenty = worst(20), eighty = worst(80);
  INFO("k < 1: 5 steps " << five << ", 10 steps " << ten << ", 20 steps " << twenty << ", 80 " << eighty);
  CHECK(five < 0.04);
  CHECK(ten < 0.01);
  CHECK(twenty < 0.003);
  CHECK(eighty < 0.0002);
  // FastPM has no second order in its kicks.
  const double fastpm_ten = worst(10, "fastpm"), fastpm_twenty = worst(20, "fastpm"),
               fastpm_eighty = worst(80, "fastpm");
  INFO("FastPM: 10 steps " << fastpm_ten << ", 20 steps " << fastpm_twenty << ", 80 " << fastpm_eighty);
  CHECK((fastpm_ten > ten && fastpm_ten < 0.02));
  CHECK(fastpm_twenty < 0.006);
  CHECK(fastpm_eighty < 0.0006);
}
