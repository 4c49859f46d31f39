#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "core/error.hpp"
#include "histogram/particle_counter.hpp"
#include "tests/support/expect_error.hpp"

using namespace cosmo;
using histogram::CellFinder;
using histogram::ParticleCounter;

namespace {

/// The cell by its definition: the number of edges i (L/n), 0 < i < n, are not above x.
int cell_by_edges(double x, const core::GridSpec& spec) {
  int cell = 0;
  while (cell + 1 < spec.cells_per_side && x >= (cell + 1) * spec.cell_size()) ++cell;
  return cell;
}

/// The cell of each coordinate, found as that of a particle with all three equal to it; empty if one is not
/// a number.
template <class T>
std::vector<int> cells_found(const core::GridSpec& spec, const std::vector<T>& coordinates) {
  std::vector<T> positions;
  for (const T x : coordinates) positions.insert(positions.end(), 3, x);
  std::vector<std::uint16_t> planes(coordinates.size());
  std::vector<std::uint32_t> cells(coordinates.size());
  if (!CellFinder(spec).find(std::span<const T>(positions), std::span(planes), std::span(cells))) return {};
  const auto n = static_cast<std::uint32_t>(spec.cells_per_side);
  for (std::size_t i = 0; i < cells.size(); ++i)
    CHECK(cells[i] == (planes[i] * n + planes[i]) * n + planes[i]);
  return {planes.begin(), planes.end()};
}

/// Counts of the positions, of which every rank has a part: the planes of this rank.
template <class T>
histogram::CountGrid counts_of(const core::GridSpec& spec, const std::vector<T>& positions) {
  const core::Communicator world = core::Communicator::world();
  const core::Slab part = core::slab_of(static_cast<int>(positions.size() / 3), world.rank(), world.size());
  ParticleCounter counter(world, spec);
  counter.add(std::span(positions).subspan(3 * static_cast<std::size_t>(part.first),
                                           3 * static_cast<std::size_t>(part.size())));
  return std::move(counter).finish();
}

/// This rank's planes of the counts, found one by one.
template <class T>
std::vector<std::uint16_t> counts_by_edges(const histogram::CountGrid& grid,
                                           const std::vector<T>& positions) {
  std::vector<std::uint16_t> counts(grid.spec().cells());
  const auto n = static_cast<std::size_t>(grid.spec().cells_per_side);
  for (std::size_t p = 0; p < positions.size(); p += 3) {
    std::size_t cell = 0;
    for (std::size_t axis = 0; axis < 3; ++axis)
      cell = cell * n + static_cast<std::size_t>(cell_by_edges(positions[p + axis], grid.spec()));
    ++counts[cell];
  }
  const auto plane = static_cast<std::ptrdiff_t>(n * n);
  return {counts.begin() + grid.slab().first * plane, counts.begin() + grid.slab().last * plane};
}

/// Each edge with its neighbours among the numbers of type T, inside [0, L].
template <class T>
std::vector<T> edges(const core::GridSpec& spec) {
  std::vector<T> near;
  for (int i = 0; i <= spec.cells_per_side; ++i) {
    const T edge = static_cast<T>(i * spec.cell_size());
    for (const T x : {std::nextafter(edge, T(0)), edge, std::nextafter(edge, std::numeric_limits<T>::max())})
      if (x <= spec.box_size) near.push_back(x);
  }
  return near;
}

/// side³ particles, displaced from a lattice by two cells of it, in the lattice's order.
template <class T>
std::vector<T> displaced_lattice(int side, double box) {
  std::mt19937 generator(3);
  std::normal_distribution<double> displacement(0, 2 * box / side);
  std::vector<T> positions;
  for (int i = 0; i < side * side * side; ++i) {
    for (const int q : {i / (side * side), i / side % side, i % side}) {
      const double x = (q + 0.5) * box / side + displacement(generator);
      positions.push_back(static_cast<T>(std::min(x - box * std::floor(x / box), box * (1 - 1e-6))));
    }
  }
  return positions;
}

template <class T>
std::vector<T> shuffled(const std::vector<T>& positions) {
  std::vector<std::size_t> order(positions.size() / 3);
  for (std::size_t p = 0; p < order.size(); ++p) order[p] = p;
  std::shuffle(order.begin(), order.end(), std::mt19937(4));
  std::vector<T> result;
  for (const std::size_t p : order) result.insert(result.end(), &positions[3 * p], &positions[3 * p] + 3);
  return result;
}

}  // namespace

TEMPLATE_TEST_CASE("a cell contains its lower edge, and the last one its upper edge too", "", float, double) {
  // Of 96 cells in 100 and of 50 in 2450, x n / L rounds across some edges.
  for (const auto& spec :
       {core::GridSpec{1, 3.0}, {2, 1.0}, {96, 100.0}, {50, 2450.0}, {48, 0.7}, {1000, 514.19529}}) {
    const CellFinder cell_of(spec);
    const std::vector<TestType> near = edges<TestType>(spec);
    const std::vector<int> cells = cells_found(spec, near);
    REQUIRE(cells.size() == near.size());
    for (std::size_t i = 0; i < near.size(); ++i) {
      CAPTURE(spec.cells_per_side, spec.box_size, near[i]);
      REQUIRE(cell_of(near[i]) == cell_by_edges(near[i], spec));
      REQUIRE(cells[i] == cell_by_edges(near[i], spec));
    }
  }
}

TEMPLATE_TEST_CASE("coordinates outside the box are wrapped, and NaN and infinity are reported", "", float,
                   double) {
  const core::GridSpec spec{10, 10.0};
  std::vector<TestType> outside = {-1, TestType(-0.001), 11, 25, -20, 1005, 10, 0};
  std::vector<int> expected = {9, 9, 1, 5, 0, 5, 9, 0};
  CHECK(cells_found(spec, outside) == expected);
  outside.resize(100, TestType(5.5));  // more than are found at a time
  expected.resize(100, 5);
  CHECK(cells_found(spec, outside) == expected);
  for (const TestType x :
       {std::numeric_limits<TestType>::quiet_NaN(), std::numeric_limits<TestType>::infinity(),
        -std::numeric_limits<TestType>::infinity()}) {
    CHECK(CellFinder(spec)(x) == -1);
    std::vector<TestType> all(200, 5);
    all[123] = x;
    CHECK(cells_found(spec, all).empty());
  }
}

TEST_CASE("every item is taken once: each thread its own in order, then the last of others") {
  histogram::WorkShares items(7, 2);  // 0 … 2 and 3 … 6
  std::vector<std::size_t> taken;
  for (const std::size_t thread : {0u, 0u, 0u, 0u, 1u, 0u, 1u}) taken.push_back(items.take(thread).value());
  CHECK(taken == std::vector<std::size_t>{0, 1, 2, 6, 3, 5, 4});
  CHECK(items.left() == 0);
  CHECK_FALSE(items.take(0));
}

TEMPLATE_TEST_CASE("particles in the order of a lattice and at random are counted alike", "", float, double) {
  // 64³ particles are 8 chunks; grids with one bucket, with few and with one per plane.
  const double box = 100;
  const std::vector<TestType> lattice = displaced_lattice<TestType>(64, box), random = shuffled(lattice);
  for (const int cells : {7, 96, 256, 300}) {
    const core::GridSpec spec{cells, box};
    const histogram::CountGrid grid = counts_of(spec, lattice);
    CHECK(std::ranges::equal(grid.counts(), counts_by_edges(grid, lattice)));
    CHECK(std::ranges::equal(grid.counts(), counts_of(spec, random).counts()));
  }
}

TEST_CASE("particles may come in portions, of either type") {
  const core::GridSpec spec{64, 100};
  const std::vector<float> positions = displaced_lattice<float>(48, spec.box_size);
  const std::vector<double> wide(positions.begin(), positions.end());
  const core::Communicator world = core::Communicator::world();
  ParticleCounter counter(world, spec);
  const std::size_t cut = 3 * 40001;
  counter.add(std::span<const double>(wide).first(cut));
  counter.add(std::span<const float>());
  counter.add(std::span<const float>(positions).subspan(cut));
  const histogram::CountGrid grid = std::move(counter).finish();
  const histogram::CountGrid once = counts_of(spec, positions);
  CHECK(std::ranges::equal(once.counts(), counts_by_edges(once, positions)));
  const auto ranks = static_cast<std::uint16_t>(world.size());  // each of which added them all
  CHECK(std::ranges::equal(grid.counts(), once.counts(), [&](std::uint16_t of_all, std::uint16_t of_one) {
    return of_all == ranks * of_one;
  }));
}

TEST_CASE("counts above the largest uint16 and positions that are not numbers are refused") {
  // Grids of one bucket, where the particles are sorted, and of 32, where they are counted at once.
  for (const core::GridSpec spec : {core::GridSpec{8, 8}, core::GridSpec{128, 8}}) {
    std::vector<float> crowd(3 * 65535, 2.51f);
    const histogram::CountGrid full = counts_of(spec, crowd);
    if (full.slab().contains(5 * spec.cells_per_side / 16)) CHECK(std::ranges::max(full.counts()) == 65535);
    crowd.insert(crowd.end(), {2.51f, 2.51f, 2.51f});
    expect_error(core::Fault::numeric, "65535", [&] { (void)counts_of(spec, crowd); });
    crowd[100000] = std::numeric_limits<float>::quiet_NaN();
    expect_error(core::Fault::numeric, "finite", [&] { (void)counts_of(spec, crowd); });
  }
}
