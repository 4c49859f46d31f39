// Universes of the same phases are found, and others are not, by random fields of known correlation.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "core/random.hpp"
#include "histogram/phases/phase_sketch.hpp"
#include "histogram/phases/shared_phases.hpp"

using namespace cosmo;
using histogram::PhaseFinding;

namespace {

constexpr int kSide = 16;

/// Values of a cube whose logarithms are `share` of those of the seed and otherwise of its own.
std::vector<float> cube(std::uint64_t seed, std::uint64_t own, double share, double mean = 100) {
  const core::RandomStream phases(seed, core::Purpose::gaussian_field), noise(own, core::Purpose::design);
  std::vector<float> values;
  for (std::uint32_t i = 0; i < kSide * kSide * kSide; ++i) {
    // of 8³ cells each, so that halving does not wash them out
    const std::uint32_t coarse = (i / 512 * 8 + i / 32 % 8) * 8 + i / 2 % 8;
    const double x = share * phases.normals({coarse, 0, 0})[0] +
                     std::sqrt(1 - share * share) * noise.normals({coarse, 0, 1})[0];
    values.push_back(static_cast<float>(mean * std::exp(0.3 * x)));
  }
  return values;
}

std::vector<std::vector<float>> independent(std::uint64_t count) {
  std::vector<std::vector<float>> cubes;
  for (std::uint64_t u = 0; u < count; ++u) cubes.push_back(cube(100 + u, 100 + u, 1));
  return cubes;
}

PhaseFinding compare(const std::vector<std::vector<float>>& cubes, bool counts) {
  std::vector<float> all;
  for (const std::vector<float>& values : cubes) all.insert(all.end(), values.begin(), values.end());
  return histogram::find_shared_phases(all, cubes.size(), counts);
}

}  // namespace

TEST_CASE("shared and opposite phases are found among independent ones") {
  std::vector<std::vector<float>> cubes = independent(60);
  CHECK(compare(cubes, true).pairs.empty());
  cubes[7] = cube(1, 7, 0.97);
  cubes[31] = cube(1, 31, 0.97);
  for (float& value : cubes[44] = cube(1, 44, 0.97))
    value = 10000 / value;  // its logarithms change their sign
  const PhaseFinding found = compare(cubes, true);
  CHECK((found.conclusive && found.cells == 8 && found.universes == 60));
  CHECK(found.deviation == Approx(1 / std::sqrt(512.0)).epsilon(0.15));
  REQUIRE(found.pairs.size() == 3);
  CHECK((found.pairs[0].first == 7 && found.pairs[0].second == 31 && found.pairs[0].correlation > 0.9));
  CHECK((found.pairs[1].first == 7 && found.pairs[1].second == 44 && found.pairs[1].correlation < -0.9));
  CHECK((found.pairs[2].first == 31 && found.pairs[2].second == 44));
}

TEST_CASE("two universes are enough, and all may be alike") {
  const std::vector<std::vector<float>> two = {cube(1, 1, 0.9), cube(1, 2, 0.9)};
  CHECK(compare(two, true).pairs.size() == 1);
  CHECK(compare(std::vector<std::vector<float>>{two[0], cube(2, 3, 0.9)}, true).pairs.empty());
  std::vector<std::vector<float>> all;
  for (std::uint64_t u = 0; u < 12; ++u) all.push_back(cube(1, u, 0.95));
  CHECK(compare(all, true).pairs.size() == 66);
  CHECK(compare(std::vector<std::vector<float>>{two[0]}, true).pairs.empty());
}

TEST_CASE("nothing is concluded from cubes that a few modes make up, or of uniform ones") {
  std::vector<std::vector<float>> waves;
  for (std::uint64_t u = 0; u < 20; ++u) {
    const core::RandomStream stream(u, core::Purpose::gaussian_field);
    std::vector<float> values;
    for (int i = 0; i < kSide * kSide * kSide; ++i) {
      double x = 0;
      const int place[3] = {i / 256, i / 16 % 16, i % 16};
      for (std::uint32_t axis = 0; axis < 3; ++axis)
        x += std::cos(2 * M_PI * (place[axis] / 16.0 + stream.uniform({axis, 0, 0})));
      values.push_back(static_cast<float>(100 * std::exp(0.5 * x)));
    }
    waves.push_back(values);
  }
  const PhaseFinding found = compare(waves, true);
  CHECK_FALSE(found.conclusive);
  CHECK(found.pairs.empty());
  CHECK(found.text().find("too few modes") != std::string::npos);
  const std::vector<float> uniform(kSide * kSide * kSide, 8.0f);
  CHECK(compare(std::vector<std::vector<float>>{uniform, uniform}, true).pairs.empty());
}

TEST_CASE("nothing is concluded from so few particles that their noise is most of the variance") {
  for (const auto& [mean, conclusive] : {std::pair(0.2, false), {20.0, true}}) {
    std::vector<std::vector<float>> cubes;
    for (std::uint64_t u = 0; u < 20; ++u) {
      std::mt19937_64 random(u);
      std::vector<float> values = cube(1, u, 1);
      const double sum = std::accumulate(values.begin(), values.end(), 0.0);
      for (float& value : values)
        value = static_cast<float>(
            std::poisson_distribution<int>(mean * value * static_cast<double>(values.size()) / sum)(random));
      cubes.push_back(values);
    }
    const PhaseFinding found = compare(cubes, true);
    CHECK(found.conclusive == conclusive);
    CHECK(found.pairs.size() == (conclusive ? 190u : 0u));
  }
}

TEST_CASE("a field's phases are found, whatever its unit and sign") {
  std::vector<std::vector<float>> cubes = independent(20);
  for (std::size_t u : {3u, 9u}) cubes[u] = cube(1, u, 0.95);
  for (auto& values : cubes)
    for (float& value : values) value = 1e-12f * (value - 100);
  const PhaseFinding found = compare(cubes, false);
  REQUIRE(found.pairs.size() == 1);
  CHECK((found.pairs[0].first == 3 && found.pairs[0].second == 9));
}

TEST_CASE("a sketch sums the voxels of its cells") {
  const int side = 40;
  std::vector<std::uint16_t> voxels(side * side * side, 1);
  voxels[(39 * side + 20) * side + 3] = 101;
  const std::vector<float> sketch = histogram::phase_sketch(std::span<const std::uint16_t>(voxels), side);
  REQUIRE(sketch.size() == 16 * 16 * 16);
  double sum = 0;
  for (const float value : sketch) sum += value;
  CHECK(sum == side * side * side + 100);
  const std::size_t place = (15 * 16 + 8) * 16 + 1;  // 39, 20 and 3 of 40 voxels
  CHECK(sketch[place] - sketch[place - 16 * 16 * 4] >= 100 - 27);
  CHECK(histogram::sketch_side(12) == 12);
  CHECK(histogram::phase_sketch(std::span<const std::uint16_t>(voxels).first(1728), 12).size() == 1728);
}
