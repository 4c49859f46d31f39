// Whole simulations against each other, against paper and against a fit to N-body simulations. On one rank:
// particles keep their order.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <numbers>

#include "core/fourier/power_spectrum.hpp"
#include "sim/nbody/integrator.hpp"
#include "sim/nbody/lpt.hpp"
#include "sim/simulation.hpp"
#include "tests/support/density_contrast.hpp"
#include "tests/support/table.hpp"

using namespace cosmo;

namespace {

sim::SimulationConfig config_of(double box, int particles, int mesh, int steps) {
  sim::SimulationConfig config;
  config.box.side = core::Length(box);
  config.box.particles_per_side = particles;
  config.gravity.mesh_per_side = mesh;
  config.gravity.force_kernel = sim::best_force_kernel(mesh, particles);
  config.gravity.steps = steps;
  return config;
}

/// The modes of the density contrast of a simulation's outcome, on a mesh of `side` cells.
fourier::FourierMesh density_of(const core::Communicator& comm, const sim::SimulationConfig& config, int side,
                                std::uint64_t seed = 5) {
  fourier::FourierMesh mesh(comm, {side, config.box.side.value});
  sim::simulate(comm, config, {.seed = seed},
                {.output = [&](const sim::Output& output) { density_contrast(mesh, output.particles); }});
  mesh.forward();
  return mesh;
}

double sinc(double x) { return x == 0 ? 1 : std::sin(x) / x; }

}  // namespace

/// Largest deviation of the power from `reference` for k < edges[0], from there to edges[1], and so on.
template <std::size_t size>
std::array<double, size> largest_deviations(const fourier::PowerSpectrum& power,
                                            const fourier::PowerSpectrum& reference,
                                            const std::array<double, size>& edges) {
  std::array<double, size> worst = {};
  for (std::size_t bin = 0; bin < power.k.size() && power.k[bin] < edges.back(); ++bin) {
    const auto range =
        static_cast<std::size_t>(std::ranges::upper_bound(edges, power.k[bin]) - edges.begin());
    worst[range] = std::max(worst[range], std::abs(power.power[bin] / reference.power[bin] - 1));
  }
  return worst;
}

TEST_CASE("few steps converge to forty, with the square of their length") {
  const auto comm = core::Communicator::world();
  const int mesh = GENERATE(128, 64);
  const auto power = [&](int steps) {
    return fourier::power_spectrum(density_of(comm, config_of(128, 64, mesh, steps), 128));
  };
  const auto reference = power(40);
  const auto difference = [&](int steps) {
    return largest_deviations<3>(power(steps), reference, {0.3, 0.7, 1});
  };
  const auto ten = difference(10), twenty = difference(20);
  INFO("mesh " << mesh << ", 10 steps: " << ten[0] << ", " << ten[1] << ", " << ten[2]
               << "; 20 steps: " << twenty[0] << ", " << twenty[1] << ", " << twenty[2]);
  CHECK(ten[0] < 0.005);
  CHECK(ten[1] < 0.02);
  CHECK(ten[2] < 0.04);
  // Where they differ by one sign throughout.
  for (std::size_t range = 0; range < 2; ++range) CHECK(twenty[range] < ten[range] / 3);
}

TEST_CASE("a mesh as coarse as the particles has nearly the power of one three times as fine") {
  const auto comm = core::Communicator::world();
  const auto power = [&](int mesh, int steps) {
    return fourier::power_spectrum(density_of(comm, config_of(128, 64, mesh, steps), 128));
  };
  const auto worst = largest_deviations<2>(power(64, 10), power(192, 20), {0.5, 1});
  INFO(worst[0] << " for k < 0.5, " << worst[1] << " for k < 1");
  CHECK(worst[0] < 0.03);
  CHECK(worst[1] < 0.16);
}

TEST_CASE("doubling the particle grid keeps the large-scale modes of the outcome") {
  const auto comm = core::Communicator::world();
  constexpr int n = 32;
  const auto coarse = density_of(comm, config_of(256, n, 2 * n, 10), 2 * n);
  const auto fine = density_of(comm, config_of(256, 2 * n, 4 * n, 10), 2 * n);
  // Shell by shell, up to half the Nyquist wavenumber of the coarse particles.
  std::array<double, n / 4> cross = {}, first = {}, second = {};
  coarse.for_each_mode_row([&](int kx, int ky, const std::complex<float>* modes) {
    for (int kz = 0; kz <= n / 4; ++kz) {
      const auto shell = static_cast<std::size_t>(std::hypot(kx, ky, kz));
      if (shell == 0 || shell >= cross.size()) continue;
      const std::complex<double> a(modes[kz]), b(fine.mode_row(kx, ky)[kz]);
#pragma omp critical
      {
        cross[shell] += std::real(a * std::conj(b));
        first[shell] += std::norm(a);
        second[shell] += std::norm(b);
      }
    }
  });
  for (std::size_t shell = 1; shell < cross.size(); ++shell) {
    const double correlation = cross[shell] / std::sqrt(first[shell] * second[shell]);
    INFO("correlation " << correlation << " at " << shell << " to " << shell + 1 << " fundamentals");
    CHECK(correlation > 0.999);
  }
}

TEST_CASE("the 48 symmetries of the cube turn the outcome as they turn the initial field") {
  const auto comm = core::Communicator::world();
  const int n = 16;
  const core::GridSpec grid = {n, 64};
  const core::Cosmology cosmology;
  fourier::FourierMesh field(comm, grid);
  sim::gaussian_field(field, {cosmology, sim::eisenstein_hu(cosmology)}, 9);
  field.backward();
  const sim::Background background(cosmology);
  sim::ForceMesh forces(comm, {2 * n, grid.box_size},
                        sim::find_force_kernel(GENERATE("deconvolved", "four-point", "alternating")));
  const auto& integrator = sim::find_integrator(GENERATE("cola", "bullfrog", "fastpm"));

  // Positions of the particles that began at the images of the nodes, in the nodes' order.
  using Node = std::array<int, 3>;
  const auto run = [&](const auto& image) {
    fourier::FourierMesh turned(comm, grid);
    const auto for_each_node = [&](auto&& f) {
      for (int i = 0; i < n * n * n; ++i) f(static_cast<std::size_t>(i), Node{i / (n * n), i / n % n, i % n});
    };
    for_each_node([&](std::size_t, const Node& q) {
      const Node to = image(q);
      turned.row(to[0], to[1])[to[2]] = field.row(q[0], q[1])[q[2]];
    });
    turned.forward();
    auto particles = sim::lagrangian_particles(std::move(turned));
    const auto stepper = integrator.make(background, forces);
    const auto steps = stepper->schedule(0.1, 5);
    stepper->start(particles, grid, steps.front());
    for (const auto& step : steps) stepper->advance(particles, step);
    std::vector<std::array<float, 3>> positions(particles.size());
    for_each_node([&](std::size_t i, const Node& q) {
      const Node to = image(q);
      std::copy_n(particles.x().data() + 3 * ((to[0] * n + to[1]) * n + to[2]), 3, positions[i].data());
    });
    return positions;
  };

  const auto reference = run([](const Node& q) { return q; });
  std::array<std::size_t, 3> axes = {0, 1, 2};
  double worst = 0;
  do {
    for (unsigned mirrored = 0; mirrored < 8; ++mirrored) {
      const auto sign = [&](std::size_t c) { return mirrored >> c & 1 ? -1 : 1; };
      const auto moved = run([&](const Node& q) {
        Node to;
        for (std::size_t c = 0; c < 3; ++c) to[c] = (sign(c) * q[axes[c]] + n) % n;
        return to;
      });
      double square = 0;
      for (std::size_t i = 0; i < moved.size(); ++i) {
        for (std::size_t c = 0; c < 3; ++c) {
          const double d =
              static_cast<double>(moved[i][c]) - sign(c) * static_cast<double>(reference[i][axes[c]]);
          square += std::pow(d - grid.box_size * std::round(d / grid.box_size), 2);
        }
      }
      worst =
          std::max(worst, std::sqrt(square / static_cast<double>(moved.size())) / forces.grid().cell_size());
    }
  } while (std::next_permutation(axes.begin(), axes.end()));
  INFO("worst rms difference: " << worst << " cells");
  CHECK(worst < 1e-4);
}

TEST_CASE("the mean spectrum of eight boxes follows halofit") {
  const auto comm = core::Communicator::world();
  auto config = config_of(128, 64, 128, 10);
  config.start.amplitude = sim::Amplitude::fixed;  // takes most of the sample variance away
  const int side = 128;
  std::vector<double> k, power;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    auto delta = density_of(comm, config, side, seed);
    delta.for_each_mode([&](int kx, int ky, int kz, std::complex<float>& mode) {
      const double half = std::numbers::pi / side;  // undo the cloud-in-cell window
      mode /= static_cast<float>(std::pow(sinc(half * kx) * sinc(half * ky) * sinc(half * kz), 2));
    });
    const auto spectrum = fourier::power_spectrum(delta);
    k = spectrum.k;
    power.resize(k.size(), 0);
    for (std::size_t bin = 0; bin < k.size(); ++bin) power[bin] += spectrum.power[bin] / 8;
  }

  auto rows = read_table("golden_pk.csv");
  double worst[] = {0, 0};
  for (std::size_t bin = 1; bin < k.size() && k[bin] < 0.5; ++bin) {
    std::size_t above = 1;  // within the first rows, those of the fiducial cosmology
    while (std::stod(rows[above]["k"]) < k[bin]) ++above;
    const auto log_of = [&](std::size_t row, const char* name) {
      return std::log(std::stod(rows[row][name]));
    };
    const double t =
        (std::log(k[bin]) - log_of(above - 1, "k")) / (log_of(above, "k") - log_of(above - 1, "k"));
    const double fit = std::exp(std::lerp(log_of(above - 1, "Phalofit"), log_of(above, "Phalofit"), t));
    double& entry = worst[k[bin] < 0.3 ? 0 : 1];
    entry = std::max(entry, std::abs(power[bin] / fit - 1));
  }
  INFO("largest differences: " << worst[0] << " for k < 0.3, " << worst[1] << " for k < 0.5");
  CHECK(worst[0] < 0.10);
  CHECK(worst[1] < 0.15);
}
