// The correlation function and the bispectrum against closed forms and brute force.
#include <omp.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <complex>
#include <numbers>
#include <vector>

#include "core/error.hpp"
#include "core/fourier/bispectrum.hpp"
#include "core/fourier/correlation_function.hpp"
#include "core/fourier/power_spectrum.hpp"
#include "sim/linear/gaussian_field.hpp"

using namespace cosmo;
using fourier::FourierMesh;
using fourier::MassAssignment;

namespace {

/// Sets the mesh to f(x, y, z), with coordinates in cells.
template <class F>
void fill_with(FourierMesh& mesh, F f) {
  mesh.for_each_row([&](int x, int y, float* row) {
    for (int z = 0; z < mesh.side(); ++z) row[z] = static_cast<float>(f(x, y, z));
  });
}

/// Multiplies the modes by the window of the assignment.
void smooth(FourierMesh& mesh, MassAssignment assignment) {
  const auto axis = [&](int k) {
    const double x = std::numbers::pi * k / mesh.side();
    return k == 0 ? 1 : std::pow(std::sin(x) / x, static_cast<int>(assignment));
  };
  mesh.for_each_mode([&](int kx, int ky, int kz, std::complex<float>& mode) {
    mode *= static_cast<float>(axis(kx) * axis(ky) * axis(kz));
  });
}

/// P = A k^-2 exp(-(k s)²), without modes beyond `cut`.
sim::LinearPower inverse_square_power(double s, double cut = 1e9) {
  const core::Cosmology cosmology;
  return {cosmology, [=](double k) {
            return k > cut ? 0 : std::pow(k, -1 - cosmology.n_s / 2) * std::exp(-k * k * s * s / 2);
          }};
}

using Vector = std::array<int, 3>;

/// Edges of the shells that are documented, in fundamental wavenumbers.
const std::vector<double> kEdges = {0.5, 2.5, 4.5, 6.5, 8.5};

/// The shell of a wavevector, or -1.
int shell_of(const Vector& k) {
  const double length = std::sqrt(static_cast<double>(k[0] * k[0] + k[1] * k[1] + k[2] * k[2]));
  if (length < kEdges.front() || length >= kEdges.back()) return -1;
  return static_cast<int>(std::ranges::upper_bound(kEdges, length) - kEdges.begin()) - 1;
}

/// Calls use(k1, k2, k3) for all ordered triples k1 + k2 + k3 = 0 of wavevectors in shells.
template <class Use>
void for_each_triangle(Use use) {
  std::vector<Vector> vectors;
  for (int x = -8; x <= 8; ++x) {
    for (int y = -8; y <= 8; ++y) {
      for (int z = -8; z <= 8; ++z) {
        if (shell_of({x, y, z}) >= 0) vectors.push_back({x, y, z});
      }
    }
  }
  for (const Vector& a : vectors) {
    for (const Vector& b : vectors) {
      const Vector c = {-a[0] - b[0], -a[1] - b[1], -a[2] - b[2]};
      if (shell_of(c) >= 0) use(a, b, c);
    }
  }
}

double length(const Vector& k) {
  return std::sqrt(static_cast<double>(k[0] * k[0] + k[1] * k[1] + k[2] * k[2]));
}

/// Mean and standard error of the mean.
struct Sample {
  double mean = 0, error = 0;
};
Sample sample_of(const std::vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  Sample sample;
  for (const double value : values) sample.mean += value / n;
  for (const double value : values) sample.error += std::pow(value - sample.mean, 2);
  sample.error = std::sqrt(sample.error / (n - 1) / n);
  return sample;
}

/// Modes of g + b g² for the Gaussian field of a seed.
void local_field(FourierMesh& mesh, const sim::LinearPower& power, std::uint64_t seed, double b) {
  sim::gaussian_field(mesh, power, seed);
  mesh.backward();
  mesh.for_each_row([&](int, int, float* row) {
    for (int z = 0; z < mesh.side(); ++z) row[z] += static_cast<float>(b) * row[z] * row[z];
  });
  mesh.forward();
}

}  // namespace

TEST_CASE("a plane wave's correlation function is its cosine, whatever the window") {
  const auto comm = core::Communicator::world();
  const int n = 20;
  const double step = 2 * std::numbers::pi / n;
  FourierMesh mesh(comm, {n, 50.0});
  for (const auto assignment :
       {MassAssignment::exact, MassAssignment::nearest_grid_point, MassAssignment::cloud_in_cell}) {
    fill_with(mesh,
              [&](int x, int y, int z) { return 3 + 0.7 * std::cos(step * (2 * x - y + 3 * z) + 0.4); });
    mesh.forward();
    smooth(mesh, assignment);
    const auto found = fourier::correlation_function(mesh, assignment);
    REQUIRE(found.r.size() == 10);
    std::vector<double> r(10), xi(10), number(10);
    for (int x = 0; x < n; ++x) {
      for (int y = 0; y < n; ++y) {
        for (int z = 0; z < n; ++z) {
          const double distance = length({std::min(x, n - x), std::min(y, n - y), std::min(z, n - z)});
          const auto bin = static_cast<std::size_t>(std::lround(distance));
          if (bin < 1 || bin > 10) continue;
          r[bin - 1] += distance * 2.5;
          xi[bin - 1] += 0.7 * 0.7 / 2 * std::cos(step * (2 * x - y + 3 * z));
          ++number[bin - 1];
        }
      }
    }
    for (std::size_t bin = 0; bin < 10; ++bin) {
      CHECK(static_cast<double>(found.separations[bin]) == number[bin]);
      CHECK(found.r[bin] == Approx(r[bin] / number[bin]).epsilon(1e-12));
      CHECK(found.xi[bin] == Approx(xi[bin] / number[bin]).margin(1e-6));
    }
  }
}

TEST_CASE("the correlation function of P = A/k² is that of a periodic point charge") {
  const auto comm = core::Communicator::world();
  const int n = 64;
  const double box = 100, s = 1.5 * box / n;
  const auto power = inverse_square_power(s);
  FourierMesh mesh(comm, {n, box});
  sim::gaussian_field(mesh, power, 5, sim::Amplitude::fixed);
  const auto found = fourier::correlation_function(mesh, MassAssignment::exact);
  const double amplitude = power(0.1) * 0.01 * std::exp(0.01 * s * s);
  double worst = 0;
  for (std::size_t bin = 1; bin < found.r.size() / 2; ++bin) {
    // ∫ d³k/(2π)³ exp(ikx - k²s²)/k², its images, and the charge that makes the box neutral: the constant is
    // that of a cubic lattice of point charges.
    const double r = found.r[bin];
    const double expected =
        amplitude * (std::erf(r / (2 * s)) / (4 * std::numbers::pi * r) -
                     2.837297479 / (4 * std::numbers::pi * box) + (r * r / 6 + s * s) / (box * box * box));
    worst = std::max(worst, std::abs(found.xi[bin] - expected) / (amplitude / (4 * std::numbers::pi * r)));
  }
  INFO("worst " << worst);
  CHECK(worst < 4e-3);
}

TEST_CASE("triangles are as many as brute force finds") {
  const auto comm = core::Communicator::world();
  std::vector<double> equilateral(4), squeezed(4);
  for_each_triangle([&](const Vector& a, const Vector& b, const Vector& c) {
    const auto second = static_cast<std::size_t>(shell_of(b));
    if (shell_of(b) != shell_of(c)) return;
    equilateral[second] += shell_of(a) == shell_of(b);
    squeezed[second] += shell_of(a) == 0;
  });
  for (const int n : {17, 32, 45}) {
    FourierMesh mesh(comm, {n, 100.0});
    sim::gaussian_field(mesh, inverse_square_power(0), 1);
    const auto found = fourier::bispectrum(mesh, 8, MassAssignment::exact);
    CHECK(found.equilateral.triangles == equilateral);
    CHECK(found.squeezed.triangles == squeezed);
    CHECK(found.k.size() == 4);
  }
  FourierMesh mesh(comm, {17, 100.0});
  CHECK(fourier::bispectrum(mesh, 1, MassAssignment::exact).k.empty());
  CHECK_THROWS_AS(fourier::bispectrum(mesh, 9, MassAssignment::exact), core::Error);
}

TEST_CASE("three waves that close a triangle have its bispectrum, whatever the window") {
  const auto comm = core::Communicator::world();
  const int n = 24;
  const double box = 80, volume = box * box * box, step = 2 * std::numbers::pi / n;
  FourierMesh mesh(comm, {n, box});
  for (const auto assignment :
       {MassAssignment::exact, MassAssignment::nearest_grid_point, MassAssignment::cloud_in_cell}) {
    // <(Σ a cos)³> = 6 a1 a2 a3 / 4 with the phases' sum in a cosine.
    fill_with(mesh, [&](int x, int y, int z) {
      return 0.5 * std::cos(step * (x + y) + 0.3) + 0.7 * std::cos(step * (3 * y - z)) +
             0.9 * std::cos(step * (-x - 4 * y + z) - 0.1);
    });
    mesh.forward();
    smooth(mesh, assignment);
    const auto found = fourier::bispectrum(mesh, 4, assignment);
    REQUIRE(found.k.size() == 2);
    const double product = 0.5 * 0.7 * 0.9 * std::cos(0.2) / 4;
    // |k| = 1.4, 3.2, 4.2: the first shell holds one, the second two, which two orders of (k2, k3) visit.
    CHECK(found.squeezed.b[1] * found.squeezed.triangles[1] ==
          Approx(2 * product * volume * volume).epsilon(1e-4));
    CHECK(std::abs(found.equilateral.b[1] * found.equilateral.triangles[1]) < 1e-5 * volume * volume);
    const double first = found.power[0], second = found.power[1];
    CHECK(found.squeezed.q[1] ==
          Approx(found.squeezed.b[1] / (2 * first * second + second * second)).epsilon(1e-12));
  }
}

TEST_CASE("power in shells is that of the power spectrum") {
  const auto comm = core::Communicator::world();
  FourierMesh mesh(comm, {32, 100.0});
  sim::gaussian_field(mesh, inverse_square_power(0), 3);
  const auto shells = fourier::bispectrum(mesh, 8, MassAssignment::cloud_in_cell);
  const auto bins = fourier::power_spectrum(mesh, {.assignment = MassAssignment::cloud_in_cell});
  for (std::size_t s = 0; s < shells.k.size(); ++s) {  // of two bins each
    const auto first = static_cast<double>(bins.modes[2 * s]),
               second = static_cast<double>(bins.modes[2 * s + 1]);
    CHECK(shells.power[s] ==
          Approx((first * bins.power[2 * s] + second * bins.power[2 * s + 1]) / (first + second))
              .epsilon(1e-6));
    CHECK(shells.k[s] ==
          Approx((first * bins.k[2 * s] + second * bins.k[2 * s + 1]) / (first + second)).epsilon(1e-12));
  }
}

TEST_CASE("the bispectrum of g + b g² is the tree level, and that of a Gaussian field is zero") {
  const auto comm = core::Communicator::world();
  const int n = 32, seeds = 96;
  const double box = 100, volume = box * box * box, b = 0.02;
  FourierMesh mesh(comm, {n, box});
  // Modes up to a quarter of the mesh: the square has no aliases.
  const auto power = inverse_square_power(0, 8.5 * mesh.fundamental());
  std::array<std::array<double, 4>, 2> expected{}, variance{}, number{};
  for_each_triangle([&](const Vector& k1, const Vector& k2, const Vector& k3) {
    if (shell_of(k2) != shell_of(k3)) return;
    const auto shell = static_cast<std::size_t>(shell_of(k2));
    const double p1 = power(mesh.fundamental() * length(k1)), p2 = power(mesh.fundamental() * length(k2)),
                 p3 = power(mesh.fundamental() * length(k3));
    for (const std::size_t kind : {0u, 1u}) {
      if (shell_of(k1) != (kind == 0 ? shell_of(k2) : 0)) continue;
      expected[kind][shell] += 2 * b * (p1 * p2 + p2 * p3 + p3 * p1);
      // Ordered triples of the same three shells are the same triangle.
      variance[kind][shell] += (shell_of(k1) == shell_of(k2) ? 6 : 2) * volume * p1 * p2 * p3;
      ++number[kind][shell];
    }
  });
  std::array<std::array<std::vector<double>, 4>, 2> gaussian, odd;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    // The difference of b and -b is free of the Gaussian field's own scatter.
    std::vector<fourier::Bispectrum> found;
    for (const double sign : {0.0, 1.0, -1.0}) {
      local_field(mesh, power, seed, sign * b);
      found.push_back(fourier::bispectrum(mesh, 8, MassAssignment::exact));
    }
    for (std::size_t shell = 0; shell < 4; ++shell) {
      const auto of = [&](std::size_t field, std::size_t kind) {
        return (kind == 0 ? found[field].equilateral : found[field].squeezed).b.at(shell);
      };
      for (const std::size_t kind : {0u, 1u}) {
        gaussian[kind][shell].push_back(of(0, kind));
        odd[kind][shell].push_back((of(1, kind) - of(2, kind)) / 2);
      }
    }
  }
  double chi_square = 0;
  for (const std::size_t kind : {0u, 1u}) {
    for (std::size_t shell = 0; shell < 4; ++shell) {
      const Sample tree = sample_of(odd[kind][shell]), zero = sample_of(gaussian[kind][shell]);
      const double level = expected[kind][shell] / number[kind][shell];
      const double scatter = std::sqrt(variance[kind][shell]) / number[kind][shell];
      INFO((kind == 0 ? "equilateral " : "squeezed ")
           << shell << ": " << tree.mean / level << " +- " << tree.error / level
           << " of the tree level; Gaussian " << zero.mean / zero.error << " sigma, scatter "
           << zero.error * std::sqrt(seeds) / scatter << " of the expected");
      CHECK(std::abs(tree.mean - level) < 4 * tree.error);
      CHECK(tree.error < 0.2 * level);
      CHECK(std::abs(zero.mean) < 4 * zero.error);
      CHECK(zero.error * std::sqrt(seeds) / scatter == Approx(1).margin(0.5));
      chi_square += std::pow(zero.mean / zero.error, 2) / 8;
    }
  }
  CHECK(chi_square < 3);
}

TEST_CASE("measures are the same bits for any number of threads") {
  const auto comm = core::Communicator::world();
  const int threads = omp_get_max_threads();
  std::vector<double> first;
  for (const int t : {1, 2, 3}) {
    omp_set_num_threads(t);
    FourierMesh mesh(comm, {45, 100.0});
    sim::gaussian_field(mesh, inverse_square_power(0), 1);
    const auto shells = fourier::bispectrum(mesh, 11, MassAssignment::cloud_in_cell);
    const auto bins = fourier::correlation_function(mesh, MassAssignment::cloud_in_cell);
    std::vector<double> all = bins.xi;
    for (const auto* column :
         {&bins.r, &shells.k, &shells.power, &shells.equilateral.b, &shells.squeezed.b}) {
      all.insert(all.end(), column->begin(), column->end());
    }
    if (t == 1) first = all;
    CHECK(all == first);
  }
  omp_set_num_threads(threads);
}
