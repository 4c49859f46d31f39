// A random choice of particles: how many, of which, and how random.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <vector>

#include "sim/nbody/tracers.hpp"

using namespace cosmo;

TEST_CASE("tracers are chosen by a permutation of all particles") {
  for (const std::uint64_t particles : {1u, 2u, 64u, 1000u, 4096u, 4097u}) {
    const sim::Tracers tracers(7, particles, particles / 3);
    std::vector<std::uint64_t> places;
    for (std::uint64_t i = 0; i < particles; ++i) places.push_back(tracers.place_of(i));
    CHECK(std::ranges::count_if(places, [&](std::uint64_t place) { return place < particles / 3; }) ==
          static_cast<std::ptrdiff_t>(particles / 3));
    std::ranges::sort(places);
    for (std::uint64_t i = 0; i < particles; ++i) REQUIRE(places[i] == i);
  }
}

TEST_CASE("fewer tracers are a part of more, and other seeds choose others") {
  constexpr std::uint64_t kParticles = 32768;
  const sim::Tracers few(3, kParticles, 512), many(3, kParticles, 4096), others(4, kParticles, 4096);
  std::uint64_t common = 0;
  for (std::uint64_t i = 0; i < kParticles; ++i) {
    if (few.contain(i)) REQUIRE(many.contain(i));
    common += many.contain(i) && others.contain(i);
  }
  CHECK(std::abs(static_cast<double>(common) - 512) < 4 * std::sqrt(512));
}

TEST_CASE("tracers are scattered over the lattice as independent points are") {
  constexpr std::uint64_t kLattice = 64, kChosen = kLattice * kLattice * kLattice / 16;
  const sim::Tracers tracers(11, kLattice * kLattice * kLattice, kChosen);
  // In cells of 2³ to 16³ sites, and of the parity of each coordinate, the numbers have the variance of a choice without
  // replacement.
  for (const std::uint64_t cell : {2u, 4u, 8u, 16u}) {
    const std::uint64_t cells = kLattice / cell;
    std::vector<double> blocks(cells * cells * cells), combs(cell * cell * cell);
    for (std::uint64_t i = 0; i < kLattice * kLattice * kLattice; ++i) {
      if (!tracers.contain(i)) continue;
      const std::uint64_t x = i / (kLattice * kLattice), y = i / kLattice % kLattice, z = i % kLattice;
      ++blocks[(x / cell * cells + y / cell) * cells + z / cell];
      ++combs[(x % cell * cell + y % cell) * cell + z % cell];
    }
    for (const std::vector<double>& numbers : {blocks, combs}) {
      const auto size = static_cast<double>(numbers.size());
      const double mean = static_cast<double>(kChosen) / size, share = 1.0 / 16;
      double chi2 = 0;
      for (const double number : numbers) chi2 += std::pow(number - mean, 2) / (mean * (1 - share));
      CHECK(std::abs(chi2 - (size - 1)) < 4 * std::sqrt(2 * (size - 1)));
    }
  }
}

TEST_CASE("the tracers' positions are those of their particles") {
  std::vector<float> x;
  for (int i = 0; i < 3 * 1000; ++i) x.push_back(static_cast<float>(i));
  const sim::Tracers tracers(5, 1000, 77);
  const auto positions = tracers.positions(sim::ParticleSet::at(x));
  REQUIRE(positions.size() == 3 * 77);
  std::vector<float> first;
  for (std::size_t t = 0; t < 77; ++t) {
    first.push_back(positions.span()[3 * t]);
    CHECK(positions.span()[3 * t + 2] == first.back() + 2);
    CHECK(tracers.contain(static_cast<std::uint64_t>(first.back()) / 3));
  }
  std::ranges::sort(first);
  CHECK(std::ranges::adjacent_find(first) == first.end());
}
