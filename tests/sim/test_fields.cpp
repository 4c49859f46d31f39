#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <numbers>
#include <vector>

#include "core/fourier/power_spectrum.hpp"
#include "sim/linear/gaussian_field.hpp"
#include "sim/nbody/integrator.hpp"
#include "sim/nbody/lpt.hpp"

using namespace cosmo;
using fourier::FourierMesh;

namespace {

sim::LinearPower fiducial_power() { return {core::Cosmology{}, sim::eisenstein_hu(core::Cosmology{})}; }

double wavenumber(const FourierMesh& mesh, int kx, int ky, int kz) {
  return mesh.fundamental() * std::sqrt(static_cast<double>(kx * kx + ky * ky + kz * kz));
}

/// The modes of f(x, y, z), with coordinates in mesh cells.
template <class F>
FourierMesh mesh_of(const core::Communicator& comm, core::GridSpec grid, F f) {
  FourierMesh mesh(comm, grid);
  mesh.for_each_row([&](int x, int y, float* row) {
    for (int z = 0; z < grid.cells_per_side; ++z) row[z] = static_cast<float>(f(x, y, z));
  });
  mesh.forward();
  return mesh;
}

}  // namespace

TEST_CASE("random fields have the input power, within sample variance of 16 seeds") {
  const auto comm = core::Communicator::world();
  const auto power = fiducial_power();
  for (const int n : {24, 31}) {
    FourierMesh mesh(comm, {n, 150.0});
    std::map<int, double> ratio, modes;  // by rounded wavenumber, k and -k counted both
    for (std::uint64_t seed = 0; seed < 16; ++seed) {
      sim::gaussian_field(mesh, power, seed);
      mesh.for_each_mode([&](int kx, int ky, int kz, std::complex<float>& mode) {
        const double k = wavenumber(mesh, kx, ky, kz);
        const int copies = kz == 0 || 2 * kz == n ? 1 : 2;
        if (k == 0) return;
        const double relative = static_cast<double>(std::norm(mode)) * std::pow(150.0, 3) / power(k);
#pragma omp critical
        {
          ratio[static_cast<int>(std::lround(k / mesh.fundamental()))] += copies * relative;
          modes[static_cast<int>(std::lround(k / mesh.fundamental()))] += copies;
        }
      });
    }
    for (int bin = 1; bin <= n / 2; ++bin) {
      CAPTURE(n, bin);
      const double count = comm.sum(modes[bin]);
      CHECK(std::abs(comm.sum(ratio[bin]) / count - 1) < 4 * std::sqrt(2 / count));
    }
  }
}

TEST_CASE("fixed amplitudes have the input power mode by mode, and the field is real") {
  const auto comm = core::Communicator::world();
  const auto power = fiducial_power();
  for (const int n : {16, 21}) {
    FourierMesh mesh(comm, {n, 150.0});
    sim::gaussian_field(mesh, power, 3, sim::Amplitude::fixed);
    // Modes that are not each other's conjugates would be lost here.
    mesh.backward();
    mesh.forward();
    double worst = 0;
    mesh.for_each_mode([&](int kx, int ky, int kz, std::complex<float>& mode) {
      const double k = wavenumber(mesh, kx, ky, kz);
      const double expected = power(k) / std::pow(150.0, 3);
      const double error = k == 0 ? std::abs(mode) : std::abs(std::abs(mode) / std::sqrt(expected) - 1);
#pragma omp critical
      worst = std::max(worst, error);
    });
    CHECK(comm.max(worst) < 1e-5);
  }
}

TEST_CASE("a larger mesh keeps the modes of the smaller one") {
  const auto comm = core::Communicator::world();
  if (comm.size() > 1) return;  // reads modes of both meshes side by side
  const auto power = fiducial_power();
  FourierMesh coarse(comm, {16, 150.0}), fine(comm, {25, 150.0});
  sim::gaussian_field(coarse, power, 3);
  sim::gaussian_field(fine, power, 3);
  int compared = 0, different = 0;
  for (int kx = -7; kx <= 7; ++kx) {
    for (int ky = -7; ky <= 7; ++ky) {
      for (int kz = 0; kz <= 7; ++kz, ++compared) {
        different += coarse.mode_row(kx, ky)[kz] != fine.mode_row(kx, ky)[kz];
      }
    }
  }
  CHECK(compared == 15 * 15 * 8);
  CHECK(different == 0);
}

TEST_CASE("the partner of a field has every mode and every first-order displacement negated, and no other") {
  const auto comm = core::Communicator::world();
  const auto power = fiducial_power();
  FourierMesh own(comm, {20, 100.0}), partner(comm, {20, 100.0});
  for (const auto amplitude : {sim::Amplitude::random, sim::Amplitude::fixed}) {
    sim::gaussian_field(own, power, 3, amplitude);
    sim::gaussian_field(partner, power, 3, amplitude, sim::Partner::flipped);
    std::int64_t different = 0;
    own.for_each_mode([&](int kx, int ky, int kz, std::complex<float>& mode) {
      if (mode == -partner.mode_row(kx, ky)[kz]) return;
#pragma omp atomic
      ++different;
    });
    CHECK(comm.sum(different) == 0);
  }
  const auto one = sim::lagrangian_particles(std::move(own));
  const auto other = sim::lagrangian_particles(std::move(partner));
  REQUIRE(one.size() == other.size());
  std::int64_t first = 0, second = 0;
  for (std::size_t i = 0; i < 3 * one.size(); ++i) {
    first += one.psi1()[i] != -other.psi1()[i];
    second += one.psi2()[i] != other.psi2()[i];
  }
  CHECK(comm.sum(first) == 0);
  CHECK(comm.sum(second) == 0);
}

TEST_CASE("one plane wave moves particles as in Zel'dovich's solution and has no second order") {
  const auto comm = core::Communicator::world();
  const int n = 32;
  const double box = 100, k = 2 * 2 * std::numbers::pi / box, amplitude = 5;
  // psi1 = A sin(kq) belongs to delta = -dpsi1/dq = -A k cos(kq).
  auto particles = sim::lagrangian_particles(
      mesh_of(comm, {n, box}, [&](int x, int, int) { return -amplitude * k * std::cos(k * x * box / n); }));
  sim::place(particles, {n, box}, comm);
  REQUIRE(comm.sum(static_cast<std::int64_t>(particles.size())) == n * n * n);
  double worst = 0, across = 0, second = 0;
  for (std::size_t i = 0; i < particles.size(); ++i) {
    const double q = static_cast<double>(particles.x()[3 * i]);
    worst =
        std::max(worst, std::abs(static_cast<double>(particles.psi1()[3 * i]) - amplitude * std::sin(k * q)));
    for (std::size_t c = 0; c < 3; ++c) {
      if (c > 0) across = std::max(across, std::abs(static_cast<double>(particles.psi1()[3 * i + c])));
      second = std::max(second, std::abs(static_cast<double>(particles.psi2()[3 * i + c])));
    }
  }
  INFO("psi1 error " << worst << ", across " << across << ", psi2 " << second << " Mpc/h");
  CHECK(comm.max(worst) < 1e-5 * box / n);
  CHECK(comm.max(across) < 1e-6 * amplitude);
  CHECK(comm.max(second) < 1e-6 * amplitude);
}

TEST_CASE("a plane wave starts at x = q + D1 A sin kq") {
  const auto comm = core::Communicator::world();
  const int n = 32;
  const double box = 100, k = 3 * 2 * std::numbers::pi / box, amplitude = 2, a = 0.5;
  // Along z, so that every particle stays on its rank and in its place.
  auto particles = sim::lagrangian_particles(
      mesh_of(comm, {n, box}, [&](int, int, int z) { return -amplitude * k * std::cos(k * z * box / n); }));
  sim::place(particles, {n, box}, comm);
  const std::vector<float> q(particles.x().begin(), particles.x().end());
  const sim::Background background{core::Cosmology{}};
  sim::ForceMesh forces(comm, {n, box}, sim::find_force_kernel("four-point"));
  const auto& integrator = sim::find_integrator(GENERATE("cola", "bullfrog", "fastpm"));
  integrator.make(background, forces)->start(particles, {n, box}, {a, a, a, a});
  double worst = 0;
  for (std::size_t i = 0; i < q.size(); ++i) {
    const auto place = static_cast<double>(q[i]);
    const double expected = i % 3 < 2 ? place : place + background.D1(a) * amplitude * std::sin(k * place);
    worst = std::max(worst, std::abs(std::remainder(static_cast<double>(particles.x()[i]) - expected, box)));
  }
  CHECK(comm.max(worst) < 1e-4 * box / n);
}

TEST_CASE("three plane waves have the second order that can be derived on paper") {
  const auto comm = core::Communicator::world();
  const int n = 24;
  const double box = 80, k = 3 * 2 * std::numbers::pi / box, e = 0.7;
  auto particles = sim::lagrangian_particles(mesh_of(comm, {n, box}, [&](int x, int y, int z) {
    const double step = k * box / n;
    return e * (std::cos(step * x) + std::cos(step * y) + std::cos(step * z));
  }));
  sim::place(particles, {n, box}, comm);
  // φ,ii = e cos kx_i, S = e² Σ_{i<j} cos kx_i cos kx_j, and ∇⁻² divides its terms by -2k².
  double worst = 0;
  for (std::size_t i = 0; i < particles.size(); ++i) {
    const float* q = particles.x().data() + 3 * i;
    for (std::size_t c = 0; c < 3; ++c) {
      const double expected = e * e / (2 * k) * std::sin(k * static_cast<double>(q[c])) *
                              (std::cos(k * static_cast<double>(q[(c + 1) % 3])) +
                               std::cos(k * static_cast<double>(q[(c + 2) % 3])));
      worst = std::max(worst, std::abs(static_cast<double>(particles.psi2()[3 * i + c]) - expected));
    }
  }
  CHECK(comm.max(worst) < 1e-5 * e * e / k);
}
