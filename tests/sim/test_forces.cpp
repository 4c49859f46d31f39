#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numbers>
#include <numeric>

#include "core/error.hpp"
#include "core/random.hpp"
#include "sim/gravity/force_mesh.hpp"
#include "sim/gravity/mass_assignment.hpp"
#include "tests/support/density_contrast.hpp"

using namespace cosmo;
using std::numbers::pi;
using Point = std::array<double, 3>;

namespace {

/// ∇∇⁻²(V δ_D(r) - 1) in a periodic cube of side L: the field of a point mass with the mean density's weight
/// V. Source: Ewald's sum with α = 3/L: real space to neighbouring boxes and |k| <= 6 leave errors below
/// 1e-8.
Point ewald(const Point& r, double box) {
  const double alpha = 3 / box, volume = box * box * box;
  Point g = {};
  for (int cell = 0; cell < 125; ++cell) {
    const Point d = {r[0] - box * (cell / 25 - 2), r[1] - box * (cell / 5 % 5 - 2),
                     r[2] - box * (cell % 5 - 2)};
    const double s = std::hypot(d[0], d[1], d[2]);
    const double near =
        std::erfc(alpha * s) + 2 * alpha * s / std::sqrt(pi) * std::exp(-alpha * alpha * s * s);
    for (std::size_t c = 0; c < 3; ++c) g[c] += volume * near * d[c] / (4 * pi * s * s * s);
  }
  for (int x = -6; x <= 6; ++x) {
    for (int y = -6; y <= 6; ++y) {
      for (int z = -6; z <= 6; ++z) {
        const Point k = {2 * pi * x / box, 2 * pi * y / box, 2 * pi * z / box};
        const double k2 = k[0] * k[0] + k[1] * k[1] + k[2] * k[2];
        if (k2 == 0) continue;
        const double far =
            std::exp(-k2 / (4 * alpha * alpha)) / k2 * std::sin(k[0] * r[0] + k[1] * r[1] + k[2] * r[2]);
        for (std::size_t c = 0; c < 3; ++c) g[c] += far * k[c];
      }
    }
  }
  return g;
}

sim::ParticleSet particles_at(const std::vector<Point>& points, double box) {
  sim::ParticleSet particles(points.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    for (std::size_t c = 0; c < 3; ++c) {
      particles.x()[3 * i + c] = static_cast<float>(points[i][c] - box * std::floor(points[i][c] / box));
    }
  }
  return particles;
}

/// Calls use(i, g) for each particle of a group.
template <class Use>
auto one_by_one(const Use& use) {
  return [use](const sim::Group& group, const sim::Vectors&, const sim::Vectors& g) {
    for (std::size_t i = 0; i < group.count; ++i) use(std::size_t{group.place[i]}, g[i]);
  };
}

/// The mean of a particle's forces in two steps that follow each other.
std::vector<Point> mean_forces(sim::ForceMesh& forces, const sim::ParticleSet& particles) {
  std::vector<Point> mean(particles.size());
  for (const int step : {0, 1}) {
    forces.begin_step(step);
    forces.accelerate(particles, one_by_one([&](std::size_t i, const sim::Vector4& g) {
                        for (std::size_t c = 0; c < 3; ++c) mean[i][c] += static_cast<double>(g[c]) / 2;
                      }));
  }
  return mean;
}

}  // namespace

TEST_CASE("the force of a plane wave is the analytic one times the kernel") {
  const auto comm = core::Communicator::world();
  const auto& kernel =
      sim::find_force_kernel(GENERATE("deconvolved", "four-point", "two-point", "alternating"));
  const int n = 32;
  const double box = 100, h = box / n;
  for (const Point& wave : {Point{3, 0, 0}, Point{1, 2, -5}}) {
    sim::ForceMesh forces(comm, {n, box}, kernel);
    const auto phase = [&](double x, double y, double z) {
      return 2 * pi / n * (wave[0] * x + wave[1] * y + wave[2] * z);
    };
    forces.mesh().for_each_row([&](int x, int y, float* row) {
      for (int z = 0; z < n; ++z) row[z] = static_cast<float>(std::cos(phase(x, y, z)));
    });
    forces.solve_density({});

    // One particle at each node of this rank, so that cloud in cell reads single nodes.
    const core::Slab slab = forces.mesh().slab();
    std::vector<Point> nodes;
    for (int x = slab.first; x < slab.last; ++x) {
      for (int y = 0; y < n; ++y) {
        for (int z = 0; z < n; ++z) nodes.push_back({x * h, y * h, z * h});
      }
    }
    const double k2 = std::pow(2 * pi / box, 2) * (wave[0] * wave[0] + wave[1] * wave[1] + wave[2] * wave[2]);
    double window = 1, along = 0, slopes = 0;  // W², k·D and D²
    for (const double m : wave) {
      window *= m == 0 ? 1 : std::pow(std::sin(pi * m / n) / (pi * m / n), 4);
      const double kh = 2 * pi / n * m, slope = (8 * std::sin(kh) - std::sin(2 * kh)) / 6;
      along += kh * slope;
      slopes += slope * slope;
    }
    double strength = 1;  // of the potential
    if (kernel.name == "deconvolved") strength += (1 / window - 1) * std::exp(-k2 * h * h / (1.6 * 1.6));
    if (kernel.name == "alternating") {
      strength += (along / (slopes * window) - 1) * std::exp(-k2 * h * h / (3 * 3));
    }
    double worst = 0;
    forces.gather(particles_at(nodes, box), one_by_one([&](std::size_t i, const sim::Vector4& g) {
                    const double sine = std::sin(phase(nodes[i][0] / h, nodes[i][1] / h, nodes[i][2] / h));
                    for (std::size_t c = 0; c < 3; ++c) {
                      const double kh = 2 * pi / n * wave[c];
                      const double four_point = (8 * std::sin(kh) - std::sin(2 * kh)) / (6 * h);
                      const double derivative = kernel.name == "two-point" ? std::sin(kh) / h : four_point;
                      const double expected = strength * derivative / k2 * sine;
                      const double error = std::abs(static_cast<double>(g[c]) - expected) * std::sqrt(k2);
#pragma omp critical
                      worst = std::max(worst, error);
                    }
                  }));
    CHECK(comm.max(worst) < 1e-5);
  }
}

TEST_CASE("the force of a point mass agrees with Ewald's sum, and on itself is below 1e-6") {
  const auto comm = core::Communicator::world();
  if (comm.size() > 1) return;
  const int n = 64;
  const double box = n;  // lengths in cells
  const auto& kernel = sim::find_force_kernel(GENERATE("deconvolved", "four-point"));
  sim::ForceMesh forces(comm, {n, box}, kernel);
  const core::RandomStream random(1, core::Purpose::design);
  const std::vector<std::pair<double, double>> rms_allowed = {{4, 0.03}, {6, 0.03}, {8, 0.015}, {12, 0.015}};
  std::vector<double> squares(rms_allowed.size(), 0);
  double self = 0;
  const int sources = 125, directions = 8;
  for (std::uint32_t s = 0; s < sources; ++s) {
    const Point source = {box * random.uniform({s, 0, 0}), box * random.uniform({s, 0, 1}),
                          box * random.uniform({s, 0, 2})};
    forces.solve(particles_at({source}, box));
    for (std::size_t r = 0; r < rms_allowed.size(); ++r) {
      std::vector<Point> away, targets;
      for (std::uint32_t d = 0; d < directions; ++d) {
        const auto [a, b] = random.normals({s, d + 1, 0});
        const double c = random.normals({s, d + 1, 1})[0];
        const double length = rms_allowed[r].first / std::hypot(a, b, c);
        away.push_back({a * length, b * length, c * length});
        targets.push_back({source[0] + away[d][0], source[1] + away[d][1], source[2] + away[d][2]});
      }
      forces.gather(particles_at(targets, box), one_by_one([&](std::size_t i, const sim::Vector4& g) {
                      const Point exact = ewald(away[i], box);
                      const double error = std::hypot(static_cast<double>(g[0]) - exact[0],
                                                      static_cast<double>(g[1]) - exact[1],
                                                      static_cast<double>(g[2]) - exact[2]);
#pragma omp critical
                      squares[r] += std::pow(error / std::hypot(exact[0], exact[1], exact[2]), 2);
                    }));
    }
    forces.gather(particles_at({source}, box), one_by_one([&](std::size_t, const sim::Vector4& g) {
                    // In units of a point mass's force at one cell.
                    self = std::max(
                        self, 4 * pi / std::pow(box, 3) * static_cast<double>(std::hypot(g[0], g[1], g[2])));
                  }));
  }
  for (std::size_t r = 0; r < rms_allowed.size(); ++r) {
    const double rms = std::sqrt(squares[r] / (sources * directions));
    INFO(kernel.name << ": rms error at " << rms_allowed[r].first << " cells: " << rms);
    CHECK(rms < rms_allowed[r].second);
  }
  INFO(kernel.name << ": self-force " << self);
  CHECK(self < 1e-6);  // deposited weights are rounded to one quantum, gathered ones are not
}

TEST_CASE(
    "the mean force of two steps on displaced particles is their displacement, also of short waves if nodes alternate") {
  const auto comm = core::Communicator::world();
  const int n = 16, lattice = 4 * n;
  const double box = n, size = 0.05;  // lengths in cells
  const auto rms_error = [&](std::string_view kernel, const Point& wave) {
    const core::Slab slab = core::slab_of(lattice, comm.rank(), comm.size());
    const double k = std::hypot(wave[0], wave[1], wave[2]);
    const auto displacement = [&](const Point& q) {
      const double sine = std::sin(2 * pi / box * (wave[0] * q[0] + wave[1] * q[1] + wave[2] * q[2]) + 0.3);
      return Point{size * wave[0] / k * sine, size * wave[1] / k * sine, size * wave[2] / k * sine};
    };
    std::vector<Point> nodes, places;
    for (int x = slab.first; x < slab.last; ++x) {
      for (int i = 0; i < lattice * lattice; ++i) {
        const double spacing = box / lattice;
        nodes.push_back({(x + 0.5) * spacing, (i / lattice + 0.5) * spacing, (i % lattice + 0.5) * spacing});
        const Point by = displacement(nodes.back());
        places.push_back({nodes.back()[0] + by[0], nodes.back()[1] + by[1], nodes.back()[2] + by[2]});
      }
    }
    sim::ForceMesh forces(comm, {n, box}, sim::find_force_kernel(kernel));
    sim::ParticleSet particles = particles_at(places, box);
    particles.number(static_cast<std::uint64_t>(slab.first) * lattice * lattice);
    particles.move_to_owners(comm, {n, box});
    double square = 0;
    const std::vector<Point> pull = mean_forces(forces, particles);
    for (std::size_t i = 0; i < particles.size(); ++i) {
      const std::uint64_t id = particles.ids()[i];
      const auto coordinate = [&](std::uint64_t index) {
        return (static_cast<double>(index % lattice) + 0.5) * box / lattice;
      };
      const Point psi =
          displacement({coordinate(id / (lattice * lattice)), coordinate(id / lattice), coordinate(id)});
      for (std::size_t c = 0; c < 3; ++c) square += std::pow(pull[i][c] + psi[c], 2);
    }
    const double mean = comm.sum(square) / std::pow(lattice, 3);
    return std::sqrt(mean / (size * size / 2));
  };
  for (const Point& wave : {Point{5, 0, 0}, Point{4, 3, -2}, Point{3, 3, 3}}) {  // kh of 1.96, 2.11, 2.04
    const double alternating = rms_error("alternating", wave), deconvolved = rms_error("deconvolved", wave);
    INFO("wave " << wave[0] << " " << wave[1] << " " << wave[2] << ": " << alternating << ", "
                 << deconvolved);
    CHECK(alternating < 0.26);
    CHECK(deconvolved > 0.44);
  }
}

TEST_CASE(
    "the mean force of two steps of alternating nodes on point masses agrees with Ewald's sum, and theirs on themselves is small") {
  const auto comm = core::Communicator::world();
  if (comm.size() > 1) return;
  const int n = 64;
  const double box = n;  // lengths in cells
  sim::ForceMesh forces(comm, {n, box}, sim::find_force_kernel("alternating"));
  const core::RandomStream random(1, core::Purpose::design);
  for (const auto& [length, allowed] :
       {std::pair(2.0, 0.2), std::pair(3.0, 0.14), std::pair(4.0, 0.1), std::pair(8.0, 0.07)}) {
    double square = 0, largest_sum = 0;
    const int pairs = 100;
    for (std::uint32_t s = 0; s < pairs; ++s) {
      const auto [a, b] = random.normals({s, 1, 0});
      const double c = random.normals({s, 1, 1})[0], scale = length / std::hypot(a, b, c);
      const Point source = {box * random.uniform({s, 0, 0}), box * random.uniform({s, 0, 1}),
                            box * random.uniform({s, 0, 2})};
      const Point away = {a * scale, b * scale, c * scale};
      const Point exact = ewald(away, box);
      const std::vector<Point> pull = mean_forces(
          forces,
          particles_at({source, {source[0] + away[0], source[1] + away[1], source[2] + away[2]}}, box));
      const double strength = std::hypot(exact[0], exact[1], exact[2]) / 2;  // each has half of the mass
      for (std::size_t axis = 0; axis < 3; ++axis) {
        square += std::pow((pull[1][axis] - exact[axis] / 2) / strength, 2);
        largest_sum = std::max(largest_sum, std::abs(pull[0][axis] + pull[1][axis]) / strength);
      }
    }
    const double rms = std::sqrt(square / pairs);
    INFO(length << " cells: rms error " << rms << ", sum of the two " << largest_sum);
    CHECK(rms < allowed);
    CHECK(largest_sum < 1e-4);
  }
}

TEST_CASE("the deposit keeps mass exactly, reads float positions at the box's end, and finds an overflow") {
  const auto comm = core::Communicator::world();
  const int n = 16;
  const float box = 10;
  fourier::FourierMesh mesh(comm, {n, static_cast<double>(box)});
  // The largest float below the box size: the last cell, wholly at the next node, which is node 0.
  sim::ParticleSet particles(comm.rank() == comm.size() - 1 ? 1 : 0);
  for (float& x : particles.x()) x = std::nextafter(box, 0.0f);
  density_contrast(mesh, particles);
  double sum = 0;
  for (int x = mesh.slab().first; x < mesh.slab().last; ++x) {
    for (int y = 0; y < n; ++y) {
      for (int z = 0; z < n; ++z) sum += static_cast<double>(mesh.row(x, y)[z]) + 1;
    }
  }
  CHECK(comm.sum(sum) == n * n * n);
  if (comm.is_root()) CHECK(mesh.row(0, 0)[0] == Approx(n * n * n - 1).epsilon(1e-4));

  sim::ParticleSet crowd(comm.is_root() ? 4096 : 0);
  for (float& x : crowd.x()) x = 0;
  CHECK_THROWS_WITH(density_contrast(mesh, crowd), Catch::Contains("--mesh"));
  sim::ParticleSet fewer(comm.is_root() ? 4095 : 0);
  for (float& x : fewer.x()) x = 0;
  CHECK_NOTHROW(density_contrast(mesh, fewer));
}

TEST_CASE("a crowd in one cell attracts as one particle of its mass, until even coarse quanta overflow") {
  const auto comm = core::Communicator::world();
  if (comm.size() > 1) return;
  const double box = 16;
  const Point place = {3.3, 4.4, 5.5};
  sim::ForceMesh forces(comm, {16, box}, sim::find_force_kernel("four-point"));
  const auto pull_of = [&](std::size_t crowd) {
    forces.solve(particles_at(std::vector<Point>(crowd, place), box));
    Point pull = {};
    forces.gather(particles_at({{5, 6, 8}}, box), one_by_one([&](std::size_t, const sim::Vector4& g) {
                    for (std::size_t c = 0; c < 3; ++c) pull[c] = static_cast<double>(g[c]);
                  }));
    return pull;
  };
  const Point alone = pull_of(1);
  // At this place a cell of 2^21, 2^19 and 2^17 quanta per particle is full at about 10, 40 and 160 thousand.
  for (const std::size_t crowd : {2000u, 20'000u, 100'000u, 400'000u}) {
    const Point together = pull_of(crowd);
    for (std::size_t c = 0; c < 3; ++c) CHECK(together[c] == Approx(alone[c]).epsilon(3e-5));
  }
  CHECK_THROWS_WITH(pull_of(1'000'000), Catch::Contains("--mesh"));
}

TEST_CASE("particles deposited in portions are those deposited at once") {
  const auto comm = core::Communicator::world();
  const core::GridSpec grid{16, 10};
  const std::size_t some = 5000;  // particles at a node, and the same number anywhere
  std::vector<float> x(6 * some, 5);
  const core::RandomStream random(7, core::Purpose::design);
  for (std::size_t i = 3 * some; i < x.size(); ++i) {
    x[i] = static_cast<float>(10 * random.uniform({static_cast<std::uint32_t>(i), 0, 0}));
  }
  const std::span<const float> all = comm.is_root() ? std::span<const float>(x) : std::span<const float>();
  fourier::FourierMesh once(comm, grid), portions(comm, grid);
  const auto deposit = [&](fourier::FourierMesh& mesh, std::initializer_list<std::span<const float>> shares) {
    sim::MassAssignment mass(mesh);
    sim::ParticleOrder order(grid, mesh.slab());
    mass.deposit({}, order, 1 << 16);  // with 2^20 quanta per particle a cell is full at 4096
    for (const auto share : shares) {
      sim::ParticleSet particles = sim::ParticleSet::at(share);
      CHECK(particles.p().empty());
      particles.move_to_owners(comm, grid);
      order.sort(particles);
      mass.deposit_more(particles, order);
    }
    for (int plane = mesh.slab().first; plane < mesh.slab().last; ++plane) mass.to_particles(plane);
    mass.check_mass();
  };
  deposit(once, {all});
  deposit(portions, {all.first(all.size() / 2), all.subspan(all.size() / 2)});
  double sum = 0;
  bool same = true;
  for (int plane = once.slab().first; plane < once.slab().last; ++plane) {
    for (int y = 0; y < once.side(); ++y) {
      const float* row = once.row(plane, y);
      sum = std::accumulate(row, row + once.side(), sum);
      same = same && std::equal(row, row + once.side(), portions.row(plane, y));
    }
  }
  CHECK(same);
  CHECK(comm.sum(sum) == Approx(2 * some).epsilon(1e-6));
}

TEST_CASE("a group's vectors are read and written at its places, and nothing else") {
  const std::vector<std::uint32_t> order = {7, 3, 0, 18, 1, 12, 5, 9, 17, 2, 6, 16, 4, 8, 15, 10, 14, 11};
  std::vector<float> column(3 * 19 + 1);
  std::iota(column.begin(), column.end(), 1.0f);
  for (const std::size_t first : {0u, 2u, 16u, 17u}) {
    const sim::Group group(order, first);
    REQUIRE(group.count == std::min<std::size_t>(16, order.size() - first));
    const sim::Vectors vectors = sim::load3(column.data(), group);
    for (std::size_t i = 0; i < sim::Group::kSize; ++i) {
      const std::size_t place = order[first + std::min(i, group.count - 1)];
      REQUIRE(group.place[i] == place);
      for (std::size_t c = 0; c < 3; ++c) REQUIRE(vectors[i][c] == column[3 * place + c]);
    }
    std::vector<float> changed = column, expected = column;
    sim::store3(changed.data(), group, -1.0f * vectors);
    for (std::size_t i = 0; i < group.count; ++i)
      for (std::size_t c = 0; c < 3; ++c) expected[3 * group.place[i] + c] *= -1;
    CHECK(changed == expected);
  }
}
