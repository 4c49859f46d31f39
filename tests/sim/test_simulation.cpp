#include <algorithm>
#include <array>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "core/fourier/fourier_mesh.hpp"
#include "sim/nbody/integrator.hpp"
#include "sim/nbody/lpt.hpp"
#include "sim/simulation.hpp"

using namespace cosmo;

namespace {

constexpr core::Cosmology kCosmology;
const core::Universe kUniverse{7, kCosmology};

sim::SimulationConfig small_config() {
  sim::SimulationConfig config;
  config.box.side = core::Length(128);
  config.box.particles_per_side = 32;
  config.gravity.mesh_per_side = 64;
  return config;
}

/// All there, in the box, each with its own name, and at rest as a whole.
void check_particles(const core::Communicator& comm, const sim::ParticleSet& particles) {
  CHECK(comm.sum(static_cast<std::int64_t>(particles.size())) == 32 * 32 * 32);
  std::int64_t outside = 0;
  for (const float x : particles.x()) outside += !(x >= 0 && x < 128);
  CHECK(comm.sum(outside) == 0);

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

}  // namespace

TEST_CASE(
    "steps are equal in the integrator's time, forces follow each other, and the last step ends today") {
  const auto comm = core::Communicator::world();
  const sim::Background background{core::Cosmology{}};
  sim::ForceMesh forces(comm, {8, 10}, sim::find_force_kernel("four-point"));
  const auto cola = sim::find_integrator("cola").make(background, forces)->schedule(0.1, 9);
  const auto bullfrog = sim::find_integrator("bullfrog").make(background, forces)->schedule(0.1, 9);
  const auto fastpm = sim::find_integrator("fastpm").make(background, forces)->schedule(0.1, 9);
  const double first = background.D1(0.1), length = (1 - first) / 9;
  REQUIRE(cola.size() == 9);
  REQUIRE(bullfrog.size() == 9);
  REQUIRE(fastpm.size() == 9);
  for (std::size_t i = 0; i < 9; ++i) {
    const auto n = static_cast<double>(i);
    CHECK(cola[i].a_force == Approx(0.1 + 0.1 * n));
    CHECK(cola[i].a_kick_to == Approx(cola[i].a_force + 0.05));
    CHECK(background.D1(bullfrog[i].a_kick_from) == Approx(first + n * length));
    CHECK(background.D1(bullfrog[i].a_force) == Approx(first + (n + 0.5) * length));
    CHECK(fastpm[i].a_kick_from == Approx(0.1 + 0.1 * n));
    CHECK(fastpm[i].a_force == Approx(0.15 + 0.1 * n));
    for (const auto& steps : {cola, bullfrog, fastpm}) {
      if (i > 0) CHECK(steps[i].a_force == steps[i - 1].a_next);
      if (i > 0) CHECK(steps[i].a_kick_from == steps[i - 1].a_kick_to);
    }
  }
  for (const auto& steps : {cola, bullfrog, fastpm}) {
    CHECK(steps.front().a_kick_from == 0.1);
    CHECK(steps.back().a_next == 1.0);
  }
  CHECK(bullfrog.back().a_kick_to == 1.0);
  CHECK(fastpm.back().a_kick_to == 1.0);
}

TEST_CASE("a run keeps every particle in the box and on its owner, and total momentum at zero") {
  const auto comm = core::Communicator::world();
  auto config = small_config();
  config.gravity.integrator = GENERATE("cola", "bullfrog", "fastpm");
  config.contents.momenta = true;
  int steps = 0, outputs = 0;
  sim::simulate(comm, config, kUniverse,
                {.step = [&](const sim::Step&) { ++steps; },
                 .output =
                     [&](const sim::Output& output) {
                       ++outputs;
                       check_particles(comm, output.particles);
                     }});
  CHECK(steps == config.gravity.steps);
  CHECK(outputs == 1);
}

TEST_CASE("the outcome does not depend on the other outputs, and names follow their particles") {
  const auto comm = core::Communicator::world();
  auto config = small_config();
  config.gravity.integrator = GENERATE("cola", "bullfrog", "fastpm");
  config.contents.ids = true;
  // Of every particle of this rank at z = 0: the name and the position.
  using Named = std::vector<std::pair<std::uint64_t, std::array<float, 3>>>;
  std::vector<double> shown;
  const auto today = [&] {
    Named particles;
    sim::simulate(comm, config, kUniverse, {.output = [&](const sim::Output& output) {
                    shown.push_back(output.redshift);
                    if (output.redshift > 0) return;
                    const auto ids = output.particles.ids();
                    CHECK(ids.empty() == (comm.size() == 1));
                    for (std::size_t i = 0; i < output.particles.size(); ++i) {
                      std::array<float, 3> x;
                      std::copy_n(output.particles.x().data() + 3 * i, 3, x.data());
                      particles.push_back({ids.empty() ? i : ids[i], x});
                    }
                  }});
    std::ranges::sort(particles);
    return particles;
  };
  const Named alone = today();
  config.outputs.redshifts = {0, 3, 0.5, 9};
  config.contents.momenta = config.contents.power_spectrum = true;
  // The same particles, though not always on the same rank.
  Named together = today();
  CHECK(shown == std::vector<double>{0, 9, 3, 0.5, 0});
  const auto hash = [&](const Named& particles) {
    std::uint64_t sum = 0;
    for (const auto& [id, x] : particles) {
      std::uint64_t word = id;
      for (const float value : x)
        word = 6364136223846793005u * (word + std::bit_cast<std::uint32_t>(value)) + 1;
      sum += word ^ (word >> 31);
    }
    return comm.sum(sum);
  };
  CHECK(hash(alone) == hash(together));
}

TEST_CASE("outputs on the way are where linear theory has them, and spectra follow the growth") {
  const auto comm = core::Communicator::world();
  auto config = small_config();
  config.gravity.integrator = GENERATE("cola", "bullfrog", "fastpm");
  config.box.side = core::Length(1024);
  config.outputs.redshifts = {9, 4, 1.5, 0};
  config.contents.power_spectrum = true;
  double initial = 0;
  const sim::Background background(kCosmology);
  const auto largest_scales = [](const fourier::PowerSpectrum& power) {
    double sum = 0;
    for (std::size_t bin = 0; bin < 3; ++bin) sum += power.power[bin] * static_cast<double>(power.modes[bin]);
    return sum;
  };
  sim::simulate(
      comm, config, kUniverse,
      {.initial = [&](const fourier::PowerSpectrum& power,
                      const sim::LinearPower&) { initial = largest_scales(power); },
       .output =
           [&](const sim::Output& output) {
             const double growth = background.D1(1 / (1 + output.redshift));
             INFO("z = " << output.redshift);
             CHECK(largest_scales(output.power) / initial / (growth * growth) == Approx(1).epsilon(0.03));
             CHECK(output.power.k.size() == 16);
           }});
}

TEST_CASE("momenta are what move the particles") {
  const auto comm = core::Communicator::world();
  if (comm.size() > 1) return;  // pairs outputs by order
  auto config = small_config();
  config.gravity.integrator = GENERATE("cola", "bullfrog", "fastpm");
  config.gravity.steps = 40;
  config.contents.momenta = true;
  const double a = GENERATE(0.5, 0.504, 0.508, 0.512), da = 0.02;  // da is about a step
  config.outputs.redshifts = {1 / (a - da) - 1, 1 / a - 1, 1 / (a + da) - 1};
  std::vector<std::vector<float>> x, p;
  sim::simulate(comm, config, kUniverse, {.output = [&](const sim::Output& output) {
                  x.emplace_back(output.particles.x().begin(), output.particles.x().end());
                  p.emplace_back(output.particles.p().begin(), output.particles.p().end());
                }});
  REQUIRE(x.size() == 3);
  const sim::Background background(kCosmology);
  double error = 0, square = 0;
  for (std::size_t i = 0; i < x[0].size(); ++i) {
    double moved = static_cast<double>(x[2][i]) - static_cast<double>(x[0][i]);
    moved -= config.box.side.value * std::round(moved / config.box.side.value);
    const double momentum = background.Q(a) * moved / (2 * da);  // a² dx/dt / H0
    error += std::pow(momentum - static_cast<double>(p[1][i]), 2);
    square += momentum * momentum;
  }
  INFO(config.gravity.integrator << " at " << a << ", rms difference / rms: " << std::sqrt(error / square));
  CHECK(std::sqrt(error / square) < 0.005);
}

TEST_CASE("momenta at the start are those of second order") {
  const auto comm = core::Communicator::world();
  if (comm.size() > 1) return;  // pairs particles with their displacements by order
  const auto config = small_config();
  fourier::FourierMesh delta(comm, config.particle_grid(kCosmology));
  sim::gaussian_field(delta, {kCosmology, sim::eisenstein_hu(kCosmology)}, 3);
  auto particles = sim::lagrangian_particles(std::move(delta));
  const sim::Background background(kCosmology);
  std::vector<double> known;
  for (std::size_t i = 0; i < 3 * particles.size(); ++i) {
    known.push_back(background.T_D1(0.3) * static_cast<double>(particles.psi1()[i]) +
                    background.T_D2(0.3) * static_cast<double>(particles.psi2()[i]));
  }
  sim::ForceMesh forces(comm, config.force_grid(kCosmology), sim::find_force_kernel("four-point"));
  const auto stepper = sim::find_integrator(GENERATE("cola", "bullfrog", "fastpm")).make(background, forces);
  stepper->start(particles, config.particle_grid(kCosmology), {0.3, 0.3, 0.3, 0.3});
  stepper->finish(particles, 0.3);
  double worst = 0;
  for (std::size_t i = 0; i < known.size(); ++i) {
    worst = std::max(worst, std::abs(known[i] - static_cast<double>(particles.p()[i])));
  }
  CHECK(worst < 1e-5);  // [Mpc/h] of several
}

TEST_CASE("particles just inside the far edge stay in boxes of any size") {
  const auto comm = core::Communicator::world();
  // In some of these x/L of the last float below L rounds to 1.
  for (const double box : {60.0, 120.0, 125.0, 250.0, 500.0, 511.7, 1000.0, 2000.0}) {
    const auto length = static_cast<float>(box);
    const float edges[] = {std::nextafter(length, 0.0f), 0.0f, std::nextafter(0.0f, 1.0f), length / 2};
    // From the nodes at 0, displaced by x today.
    const core::GridSpec lattice = {4, box};
    const std::size_t planes = static_cast<std::size_t>(core::slab_of(4, comm.rank(), comm.size()).size());
    sim::ParticleSet particles(planes * 16);
    std::ranges::fill(particles.psi2(), 0.0f);
    sim::for_each_node(lattice, comm, [&](std::size_t i, const sim::Vector4& q) {
      for (int c = 0; c < 3; ++c)
        particles.psi1()[3 * i + static_cast<std::size_t>(c)] = q[c] == 0 ? edges[i % 4] : 0;
    });
    const sim::Background background((core::Cosmology()));
    sim::ForceMesh forces(comm, {8, box}, sim::find_force_kernel("four-point"));
    INFO("box " << box);
    const auto stepper =
        sim::find_integrator(GENERATE("cola", "bullfrog", "fastpm")).make(background, forces);
    CHECK_NOTHROW(stepper->start(particles, lattice, {1, 1, 1, 1}));
    CHECK(comm.sum(static_cast<std::int64_t>(particles.size())) == 64);
    for (const float x : particles.x()) CHECK((x >= 0 && x < length));
  }
}

TEST_CASE("small fluctuations grow as in linear theory") {
  const auto comm = core::Communicator::world();
  if (comm.size() > 1) return;  // pairs particles with their Lagrangian nodes by order
  struct Case {
    int cells_a_particle;  // a side
    double margins[2];     // for k < 0.05 and k < 0.2
  };
  const auto [cells, margins] = GENERATE(Case{3, {0.002, 0.005}}, Case{1, {0.003, 0.03}});
  // Power times 1e-4: the cosmology that simulate() would refuse, step by step.
  core::Cosmology cosmology;
  cosmology.sigma8 *= 0.01;
  const int n = 64;
  const core::GridSpec grid = {n, 512};
  fourier::FourierMesh delta(comm, grid);
  sim::gaussian_field(delta, {cosmology, sim::eisenstein_hu(cosmology)}, 11);
  auto particles = sim::lagrangian_particles(std::move(delta));
  const std::vector<float> psi1(particles.psi1().begin(), particles.psi1().end());
  const sim::Background background(cosmology);
  sim::ForceMesh forces(comm, {cells * n, grid.box_size},
                        sim::find_force_kernel(sim::best_force_kernel(cells * n, n)));
  const std::string name = GENERATE("cola", "bullfrog", "fastpm");
  const auto stepper = sim::find_integrator(name).make(background, forces);
  const auto steps = stepper->schedule(0.1, 10);
  stepper->start(particles, grid, steps.front());
  for (const auto& step : steps) stepper->advance(particles, step);

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
        row[z] = psi1[3 * i + axis];
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
  INFO(name << ", growth over D1: " << cross[0] / self[0] << " for k < 0.05, " << cross[1] / self[1]
            << " for k < 0.2");
  for (std::size_t bin = 0; bin < 2; ++bin) CHECK(cross[bin] / self[bin] == Approx(1).margin(margins[bin]));
}
