#include <omp.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <complex>
#include <cstdint>
#include <utility>

#include "core/error.hpp"
#include "core/fourier/fourier_mesh.hpp"
#include "core/fourier/power_spectrum.hpp"
#include "tests/mpi/fingerprint.hpp"

using namespace cosmo;
using fourier::FourierMesh;

TEST_CASE("forward and backward return the field, for even and odd sides") {
  const auto comm = core::Communicator::world();
  for (const int n : {4, 15, 32, 50, 63}) {
    FourierMesh mesh(comm, {n, 100.0});
    fill_rough(mesh);
    mesh.forward();
    mesh.backward();
    float worst = 0;
    for (int x = mesh.slab().first; x < mesh.slab().last; ++x) {
      for (int y = 0; y < n; ++y) {
        for (int z = 0; z < n; ++z)
          worst = std::max(worst, std::abs(mesh.row(x, y)[z] - rough_value(x, y, z)));
      }
    }
    CHECK(comm.max(worst) < 2e-6f);
  }
}

TEST_CASE("factors and maps are asked for every mode once, and for none beyond the last") {
  const auto comm = core::Communicator::world();
  for (const int n : {15, 32, 50}) {
    FourierMesh mesh(comm, {n, 100.0}), other(comm, {n, 100.0});
    std::int64_t calls = 0, beyond = 0;
    const auto ask = [&](int kz) {
#pragma omp critical
      ++(kz > n / 2 ? beyond : calls);
    };
    mesh.convolve({}, [&](int, int, int kz) {
      ask(kz);
      return 1.0f;
    });
    mesh.forward();
    other.backward_from(mesh, [&](int, int, int kz, std::complex<float> mode) {
      ask(kz);
      return mode;
    });
    CHECK(comm.sum(calls) == std::int64_t{2} * n * n * (n / 2 + 1));
    CHECK(comm.sum(beyond) == 0);
  }
}

TEST_CASE("a plane wave has one mode and its power in one bin") {
  const auto comm = core::Communicator::world();
  for (const int n : {16, 21}) {
    const int wave[] = {3, -2, 1};
    FourierMesh mesh(comm, {n, 50.0});
    mesh.for_each_row([&](int x, int y, float* row) {
      for (int z = 0; z < n; ++z) {
        const double phase = 2 * std::numbers::pi * (wave[0] * x + wave[1] * y + wave[2] * z) / n;
        row[z] = static_cast<float>(std::cos(phase) + 0.5 * std::sin(phase));
      }
    });
    mesh.forward();
    float elsewhere = 0, there = 1;
    mesh.for_each_mode([&](int kx, int ky, int kz, std::complex<float>& mode) {
      const bool here = kx == wave[0] && ky == wave[1] && kz == wave[2];
      const float distance = std::abs(mode - (here ? std::complex<float>(0.5f, -0.25f) : 0.0f));
#pragma omp critical
      (here ? there : elsewhere) = here ? distance : std::max(elsewhere, distance);
    });
    CHECK(comm.max(-there) > -1e-6f);
    CHECK(comm.max(elsewhere) < 1e-6f);

    const auto spectrum = fourier::power_spectrum(mesh);
    const std::size_t bin = 3;  // sqrt(14) = 3.74 rounds to 4
    CHECK(spectrum.power[bin] * static_cast<double>(spectrum.modes[bin]) ==
          Approx(2 * 0.3125 * 125000).epsilon(1e-5));
    CHECK(spectrum.power[1] < 1e-6);
    CHECK(spectrum.modes[0] == 18);  // 6 faces and 12 edges; corners at sqrt(3) round to 2
  }
}

TEST_CASE("modes are the same bits for any number of threads") {
  const auto comm = core::Communicator::world();
  const int threads = omp_get_max_threads();
  for (const int n : {32, 45}) {
    std::uint64_t first = 0;
    for (const int t : {1, 2, 3}) {
      omp_set_num_threads(t);
      FourierMesh mesh(comm, {n, 100.0});
      fill_rough(mesh);
      mesh.forward();
      mesh.backward();
      mesh.forward();
      const std::uint64_t mine = fingerprint(mesh);
      if (t == 1) first = mine;
      CHECK(mine == first);
    }
  }
  omp_set_num_threads(threads);
}

TEST_CASE("a power spectrum is the same bits for any number of threads, in as many bins as asked for") {
  const auto comm = core::Communicator::world();
  const int threads = omp_get_max_threads();
  for (const int n : {32, 45}) {
    FourierMesh mesh(comm, {n, 100.0});
    fill_rough(mesh);
    mesh.forward();
    const auto whole = fourier::power_spectrum(mesh);
    CHECK(whole.power.size() == static_cast<std::size_t>(n / 2));
    const auto first = static_cast<std::ptrdiff_t>(5);
    for (const int t : {1, 2, 3}) {
      omp_set_num_threads(t);
      const auto again = fourier::power_spectrum(mesh);
      CHECK(again.k == whole.k);
      CHECK(again.power == whole.power);
      CHECK(again.modes == whole.modes);
      const auto few = fourier::power_spectrum(mesh, {.bins = 5});
      CHECK(few.power == std::vector<double>(whole.power.begin(), whole.power.begin() + first));
    }
    CHECK_THROWS_AS(fourier::power_spectrum(mesh, {.bins = n / 2 + 1}), core::Error);
  }
  omp_set_num_threads(threads);
}

TEST_CASE("the window of a mass assignment is divided out of every mode") {
  const auto comm = core::Communicator::world();
  const auto [assignment, order] = GENERATE(std::pair{fourier::MassAssignment::nearest_grid_point, 1},
                                            std::pair{fourier::MassAssignment::cloud_in_cell, 2});
  for (const int n : {16, 21}) {
    FourierMesh mesh(comm, {n, 50.0});
    // The transform of the cloud itself: sinc(k_i H / 2)^order along each axis, H the cell.
    const auto along_axis = [&](int wavenumber) {
      const double x = 2 * std::numbers::pi * wavenumber / 50.0 * (50.0 / n) / 2;
      return x == 0 ? 1.0 : std::pow(std::sin(x) / x, order);
    };
    mesh.for_each_mode([&](int kx, int ky, int kz, std::complex<float>& mode) {
      mode = static_cast<float>(along_axis(kx) * along_axis(ky) * along_axis(kz));
    });
    const auto corrected = fourier::power_spectrum(mesh, {.assignment = assignment});
    const auto smoothed = fourier::power_spectrum(mesh);
    for (std::size_t bin = 0; bin < corrected.power.size(); ++bin)
      CHECK(corrected.power[bin] == Approx(125000).epsilon(1e-6));
    CHECK(smoothed.power.back() < 0.7 * 125000);
  }
}

TEST_CASE("a mesh too small for its ranks or for a transform is refused") {
  const auto comm = core::Communicator::world();
  CHECK_THROWS_AS(FourierMesh(comm, {3, 100.0}), core::Error);
}
