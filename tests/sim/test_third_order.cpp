#include <catch2/catch.hpp>
#include <cmath>
#include <numbers>
#include <optional>
#include <vector>

#include "sim/linear/third_growth.hpp"
#include "sim/nbody/lpt.hpp"

using namespace cosmo;

namespace {

using Catch::Matchers::WithinRel;

core::Cosmology universe(double omega_m, double w0 = -1, double wa = 0) {
  core::Cosmology cosmology;
  cosmology.omega_m = omega_m;
  cosmology.w0 = w0;
  cosmology.wa = wa;
  return cosmology;
}

}  // namespace

TEST_CASE("third-order growth is that of an independent integration") {
  struct Row {
    core::Cosmology cosmology;
    double a, det, det_rate, mixed, mixed_rate, curl, curl_rate;
  };
  const Row row = GENERATE(
      Row{universe(0.3), 0.1, -0.000704304717, -0.000365941093, 0.000503075388, 0.000261387109,
          -0.000301844485, -0.000156831488},
      Row{universe(0.3), 1, -0.339425571, -0.532942759, 0.242591528, 0.381141364, -0.145370839, -0.228088077},
      Row{universe(0.1), 0.1, -0.00160765767, -0.000482163549, 0.00114833209, 0.000344405643, -0.000688992688,
          -0.000206639449},
      Row{universe(0.3, -0.9, 0.2), 0.5, -0.081103028, -0.0930406549, 0.0579512592, 0.0664987845,
          -0.0347457884, -0.0398490957});
  const auto third = sim::third_growth(sim::Background(row.cosmology), row.a);
  CHECK_THAT(third.determinant.D, WithinRel(row.det, 1e-6));
  CHECK_THAT(third.determinant.T_D, WithinRel(row.det_rate, 1e-6));
  CHECK_THAT(third.mixed.D, WithinRel(row.mixed, 1e-6));
  CHECK_THAT(third.mixed.T_D, WithinRel(row.mixed_rate, 1e-6));
  CHECK_THAT(third.transverse.D, WithinRel(row.curl, 1e-6));
  CHECK_THAT(third.transverse.T_D, WithinRel(row.curl_rate, 1e-6));
}

TEST_CASE("three plane waves have the third order that can be derived on paper") {
  const auto comm = core::Communicator::world();
  const int n = 24;
  const double box = 80, k = 2 * std::numbers::pi / box, e = 0.7, a = 0.2;
  const auto particles = [&](bool third) {
    fourier::FourierMesh delta(comm, {n, box});
    delta.for_each_row([&](int x, int y, float* row) {
      const double step = k * box / n;
      for (int z = 0; z < n; ++z)
        row[z] = static_cast<float>(e * (std::cos(step * x) + std::cos(step * y) + std::cos(step * z)));
    });
    delta.forward();
    const sim::Background matter(universe(1));
    std::optional<sim::ThirdOrderStart> start;
    if (third) start.emplace(matter, a);
    return sim::lagrangian_particles(std::move(delta), start);
  };
  auto second = particles(false);
  auto third = particles(true);
  sim::place(second, {n, box}, comm);
  // A universe of matter alone: D1 = a, D2 = -3/7 a², third order a³ (-1/3, 5/21, -1/7), T[D] = n √a D.
  const double cube = a * a * a * e * e * e / k;
  double worst = 0;
  for (std::size_t i = 0; i < second.size(); ++i) {
    const float* q = second.x().data() + 3 * i;
    const auto angle = [&](std::size_t c) { return k * static_cast<double>(q[c % 3]); };
    for (std::size_t c = 0; c < 3; ++c) {
      const double x = angle(c), y = angle(c + 1), z = angle(c + 2);
      const double all = std::sin(x) * std::cos(y) * std::cos(z);
      const double sums = std::cos(y) + std::cos(z), doubled = std::cos(2 * y) + std::cos(2 * z);
      const double det = -all / 3;
      const double mixed =
          -(std::sin(x) / 2 + std::sin(2 * x) * sums / 10 + std::sin(x) * doubled / 20 + all);
      const double curl = -(2 * std::sin(x) * doubled - std::sin(2 * x) * sums) / 20;
      const double expected = cube * (-det / 3 + 5 * mixed / 21 - curl / 7);
      const double first =
          static_cast<double>(third.psi1()[3 * i + c]) - static_cast<double>(second.psi1()[3 * i + c]);
      const double other =
          static_cast<double>(third.psi2()[3 * i + c]) - static_cast<double>(second.psi2()[3 * i + c]);
      const double moved = a * first - 3.0 / 7 * a * a * other;
      const double rate = (a * first - 6.0 / 7 * a * a * other) / 3;  // over √a, of the third order
      worst = std::max({worst, std::abs(moved - expected), std::abs(rate - expected)});
    }
  }
  CHECK(comm.max(worst) < 2e-5 * cube);
}
