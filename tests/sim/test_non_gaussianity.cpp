// Local non-Gaussianity of the initial field.
#include <catch2/catch.hpp>
#include <cmath>
#include <numbers>

#include "sim/linear/background.hpp"
#include "sim/linear/gaussian_field.hpp"
#include "sim/linear/local_non_gaussianity.hpp"

using namespace cosmo;
using fourier::FourierMesh;

namespace {

constexpr core::Cosmology kPlanck = {
    .omega_m = 0.3111, .sigma8 = 0.8102, .n_s = 0.9665, .h = 0.6766, .omega_b = 0.04897};

std::function<double(double)> alpha_of(const core::Cosmology& cosmology) {
  return sim::density_per_potential(sim::eisenstein_hu(cosmology), 1e-5, cosmology.omega_m,
                                    sim::Background(cosmology).growth());
}

/// The real field whose modes with low <= |k| < high, in fundamentals, are map(k, mode of `source`).
template <class Map>
FourierMesh shell_of(const FourierMesh& source, double low, double high, const Map& map) {
  FourierMesh shell(source.communicator(), source.grid());
  shell.backward_from(source, [&](int kx, int ky, int kz, std::complex<float> mode) -> std::complex<float> {
    const double k = std::sqrt(kx * kx + ky * ky + kz * kz);
    return k >= low && k < high ? std::complex<float>(map(k * source.fundamental(), mode)) : 0;
  });
  return shell;
}

/// The mean of a b c over the box.
double mean_product(FourierMesh& a, FourierMesh& b, FourierMesh& c) {
  double sum = 0;
  a.for_each_row([&](int x, int y, const float* row) {
    double part = 0;
    for (int z = 0; z < a.side(); ++z) {
      part += static_cast<double>(row[z]) * static_cast<double>(b.row(x, y)[z]) *
              static_cast<double>(c.row(x, y)[z]);
    }
#pragma omp atomic
    sum += part;
  });
  return a.communicator().sum(sum) / static_cast<double>(a.grid().cells());
}

}  // namespace

TEST_CASE("the potential of the matter era has the amplitude that Planck measured") {
  // Planck 2018 (arXiv:1807.06209), table 2, last column: ln(1e10 A_s) = 3.047 at 0.05/Mpc, for the curvature
  // ζ = 5/3 Φ; for their massive neutrinos a given sigma8 takes some 3 % more, and our transfer function is a fit.
  const sim::LinearPower power(kPlanck, sim::eisenstein_hu(kPlanck));
  const double pivot = 0.05 / kPlanck.h;
  const double variance = std::pow(pivot, 3) * power(pivot) / (2 * std::numbers::pi * std::numbers::pi) /
                          std::pow(alpha_of(kPlanck)(pivot), 2);
  const double expected = 9.0 / 25 * std::exp(3.047) * 1e-10;
  INFO("k³P/2π² of the potential / 9/25 A_s = " << variance / expected);
  CHECK(std::abs(variance / expected - 1) < 0.07);
}

TEST_CASE("two plane waves of the potential give those of its square") {
  const auto comm = core::Communicator::world();
  constexpr int n = 16;
  const auto alpha = alpha_of(core::Cosmology{});
  const double large = 3e-5, small = 1e-5, f_nl = 200;
  FourierMesh delta(comm, {n, 300.0});
  const auto add = [&](FourierMesh& mesh, int kx, int ky, int kz, double height) {  // height cos(kx)
    const double k = mesh.fundamental() * std::sqrt(kx * kx + ky * ky + kz * kz);
    mesh.for_each_mode([&](int x, int y, int z, std::complex<float>& mode) {
      const bool here = x == kx && y == ky && z == kz;
      const bool opposite = kz == 0 && x == -kx && y == -ky && z == 0;
      if (here || opposite) mode += static_cast<float>(height / 2 * alpha(k));
    });
  };
  const auto clear = [](FourierMesh& mesh) {
    mesh.for_each_mode([](int, int, int, std::complex<float>& mode) { mode = 0; });
  };
  FourierMesh expected(comm, {n, 300.0});
  for (FourierMesh* mesh : {&delta, &expected}) {
    clear(*mesh);
    add(*mesh, 1, 0, 0, large);
    add(*mesh, 2, 3, 1, small);
  }
  // (A cos a + B cos b)² = A²/2 (1 + cos 2a) + B²/2 (1 + cos 2b) + A B (cos(a + b) + cos(a - b))
  add(expected, 2, 0, 0, f_nl * large * large / 2);
  add(expected, 4, 6, 2, f_nl * small * small / 2);
  add(expected, 3, 3, 1, f_nl * large * small);
  add(expected, 1, 3, 1, f_nl * large * small);
  sim::add_local_non_gaussianity(delta, f_nl, alpha);
  double worst = 0;
  delta.for_each_mode([&](int kx, int ky, int kz, std::complex<float>& mode) {
    const double k = delta.fundamental() * std::sqrt(kx * kx + ky * ky + kz * kz);
    const double error = static_cast<double>(std::abs(mode - expected.mode_row(kx, ky)[kz]));
    const double scale = k == 0 ? 1e-9 : alpha(k) * f_nl * small * small;
#pragma omp critical
    worst = std::max(worst, error / scale);
  });
  INFO("largest error / α f_NL B²: " << comm.max(worst));
  CHECK(comm.max(worst) < 1e-4);
}

TEST_CASE("the squeezed bispectrum of the initial field is that of tree level") {
  // B(k1, k2, k3) = 2 f_NL α1 α2 α3 (P1 P2 + P1 P3 + P2 P3), summed over the triangles of a long wave and two
  // short ones, is a mean over the box of products of filtered fields.
  const auto comm = core::Communicator::world();
  const core::GridSpec grid = {32, 1000.0};
  const auto alpha = alpha_of(core::Cosmology{});
  const sim::LinearPower power(core::Cosmology{}, sim::eisenstein_hu(core::Cosmology{}));
  constexpr double f_nl = 100, kLong[] = {1, 3}, kShort[] = {7, 11};
  FourierMesh delta(comm, grid);
  double measured = 0;
  constexpr int kSeeds = 8;
  const auto same = [](double, std::complex<float> mode) { return mode; };
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    for (const double sign : {1.0, -1.0}) {  // the difference has no triangles of three Gaussian modes
      sim::gaussian_field(delta, power, seed, sim::Amplitude::fixed);
      sim::add_local_non_gaussianity(delta, sign * f_nl, alpha);
      FourierMesh far = shell_of(delta, kLong[0], kLong[1], same),
                  near = shell_of(delta, kShort[0], kShort[1], same);
      measured += sign * mean_product(far, near, near) / (2 * kSeeds);
    }
  }
  const double volume = std::pow(grid.box_size, 3);
  const auto only_alpha = [&](double k, std::complex<float>) { return static_cast<float>(alpha(k)); };
  const auto with_power = [&](double k, std::complex<float>) {
    return static_cast<float>(power(k) / volume / alpha(k));  // α P of the potential's modes
  };
  FourierMesh far = shell_of(delta, kLong[0], kLong[1], only_alpha),
              near = shell_of(delta, kShort[0], kShort[1], only_alpha);
  FourierMesh far_power = shell_of(delta, kLong[0], kLong[1], with_power);
  FourierMesh near_power = shell_of(delta, kShort[0], kShort[1], with_power);
  const double expected =
      2 * f_nl * (2 * mean_product(far_power, near_power, near) + mean_product(far, near_power, near_power));
  INFO("measured / tree level: " << measured / expected);
  CHECK(std::abs(measured / expected - 1) < 0.05);
}
