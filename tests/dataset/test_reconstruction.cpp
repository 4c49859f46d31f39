// What is made of the counts beside them, reconstructions of the initial density and tides: what linear theory and symmetry ask of them.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <random>
#include <span>
#include <vector>

#include "dataset/voxels/input_maker.hpp"
#include "dataset/voxels/iterative_reconstruction.hpp"
#include "dataset/voxels/reconstruction.hpp"
#include "dataset/voxels/tidal_eigenvalues.hpp"

using namespace cosmo;

namespace {

constexpr int kSide = 16;
constexpr std::size_t kVoxels = std::size_t{kSide} * kSide * kSide;

/// 1 + amplitude cos(2π (x + 2 y) / side)
std::vector<float> wave(double amplitude) {
  std::vector<float> values(kVoxels);
  for (std::size_t i = 0; i < kVoxels; ++i) {
    const auto x = static_cast<double>(i / (kSide * kSide)), y = static_cast<double>(i / kSide % kSide);
    values[i] = static_cast<float>(1 + amplitude * std::cos(2 * std::numbers::pi * (x + 2 * y) / kSide));
  }
  return values;
}

/// Counts that cluster, some of them far above the mean.
std::vector<std::uint16_t> clustered() {
  std::mt19937_64 random(5);
  std::vector<std::uint16_t> counts(kVoxels);
  std::lognormal_distribution<double> mean(0, 1.2);
  for (std::uint16_t& count : counts)
    count = static_cast<std::uint16_t>(std::poisson_distribution<int>(mean(random))(random));
  return counts;
}

/// `values` with axes in the order (y, z, x), shifted by 3 along the first.
template <class T>
std::vector<T> moved(std::span<const T> values) {
  std::vector<T> result(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t x = i / (kSide * kSide), y = i / kSide % kSide, z = i % kSide;
    result[((y + 3) % kSide * kSide + z) * kSide + x] = values[i];
  }
  return result;
}

template <class Reconstruction, class T>
std::vector<float> reconstructed(const std::vector<T>& box, double smoothing = 1.5) {
  Reconstruction reconstruction(smoothing, kSide);
  const std::span<const float> found = reconstruction.apply(std::span<const T>(box));
  return {found.begin(), found.end()};
}

}  // namespace

TEST_CASE("a reconstruction of small density waves is these waves") {
  constexpr double kAmplitude = 1e-3;
  const std::vector<float> box = wave(kAmplitude);
  const std::vector<float> found = reconstructed<dataset::IterativeReconstruction>(box);
  double cross = 0, square = 0;
  for (std::size_t i = 0; i < kVoxels; ++i) {
    const double truth = static_cast<double>(box[i]) - 1;
    cross += truth * static_cast<double>(found[i]);
    square += truth * truth;
  }
  // Mass that hardly moves stays between two nodes, where cloud in cell has a kink: 4 % in all, and a fifth at single nodes.
  CHECK(cross / square == Approx(1).epsilon(0.05));
  for (std::size_t i = 0; i < kVoxels; ++i)
    REQUIRE(static_cast<double>(found[i]) ==
            Approx(static_cast<double>(box[i]) - 1).margin(0.5 * kAmplitude));
}

TEMPLATE_TEST_CASE("reconstructions turn with the box, and do not depend on the number of particles", "",
                   dataset::Reconstruction, dataset::IterativeReconstruction) {
  const std::vector<std::uint16_t> counts = clustered();
  const std::vector<float> found = reconstructed<TestType>(counts);
  const std::vector<float> expected = moved(std::span<const float>(found)),
                           turned = reconstructed<TestType>(moved(std::span<const std::uint16_t>(counts)));
  std::vector<std::uint16_t> thrice = counts;
  for (std::uint16_t& count : thrice) count = static_cast<std::uint16_t>(3 * count);
  const std::vector<float> of_more = reconstructed<TestType>(thrice);
  double sum = 0;
  for (std::size_t i = 0; i < kVoxels; ++i) {
    sum += static_cast<double>(found[i]);
    REQUIRE(turned[i] == Approx(expected[i]).margin(2e-3));
    REQUIRE(of_more[i] == Approx(found[i]).margin(2e-3));
  }
  CHECK(sum / kVoxels == Approx(0).margin(1e-4));
}

TEMPLATE_TEST_CASE("nothing is reconstructed from an empty box, and again the same from a full one", "",
                   dataset::Reconstruction, dataset::IterativeReconstruction) {
  const std::vector<std::uint16_t> counts = clustered(), empty(kVoxels, 0);
  TestType reconstruction(1.5, kSide);
  const auto apply = [&](const std::vector<std::uint16_t>& box) {
    const std::span<const float> found = reconstruction.apply(std::span<const std::uint16_t>(box));
    return std::vector<float>(found.begin(), found.end());
  };
  const std::vector<float> first = apply(counts);
  CHECK(std::ranges::all_of(apply(empty), [](float value) { return value == 0; }));
  CHECK(apply(counts) == first);
}

TEST_CASE("eigenvalues are those of matrices that are known") {
  const auto near = [](const std::array<float, 3>& found, const std::array<double, 3>& expected) {
    for (std::size_t i = 0; i < 3; ++i)
      REQUIRE(static_cast<double>(found[i]) == Approx(expected[i]).margin(1e-6));
  };
  near(dataset::eigenvalues({-1, 3, 2, 0, 0, 0}), {3, 2, -1});
  near(dataset::eigenvalues({2, 2, 2, 0, 0, 0}), {2, 2, 2});
  near(dataset::eigenvalues({2, 2, 3, 1, 0, 0}), {3, 3, 1});
  near(dataset::eigenvalues({0, 0, 0, 1, 1, 1}), {2, -1, -1});
  near(dataset::eigenvalues({0, 0, 0, 0, 0, 0}), {0, 0, 0});
}

TEST_CASE("the tides of a wave are along it, smoothed, and sum to the density") {
  constexpr double kAmplitude = 0.2, kRadius = 1.5;
  dataset::TidalEigenvalues tides(kRadius, kSide);
  const std::vector<float> box = wave(kAmplitude);
  const std::span<const float> found = tides.apply(std::span<const float>(box));
  const double unit = 2 * std::numbers::pi / kSide,
               smooth = std::exp(-5 * unit * unit * kRadius * kRadius / 2);
  for (std::size_t i = 0; i < kVoxels; ++i) {
    const double along = (static_cast<double>(box[i]) - 1) * smooth;
    REQUIRE(static_cast<double>(found[i]) == Approx(std::max(along, 0.0)).margin(1e-5));
    REQUIRE(static_cast<double>(found[kVoxels + i]) == Approx(0).margin(1e-5));
    REQUIRE(static_cast<double>(found[2 * kVoxels + i]) == Approx(std::min(along, 0.0)).margin(1e-5));
  }
}

TEST_CASE("tides move with their counts, do not depend on their mean, and are zero in an empty box") {
  const std::vector<std::uint16_t> counts = clustered();
  dataset::TidalEigenvalues tides(2, kSide);
  const auto of = [&]<class T>(const std::vector<T>& box) {
    const std::span<const float> found = tides.apply(std::span<const T>(box));
    return std::vector<float>(found.begin(), found.end());
  };
  const std::vector<float> plain = of(counts), turned = of(moved(std::span<const std::uint16_t>(counts)));
  std::vector<float> doubled(counts.begin(), counts.end());
  for (float& count : doubled) count *= 2;
  const std::vector<float> twice = of(doubled);
  for (std::size_t c = 0; c < 3; ++c) {
    const std::vector<float> expected = moved(std::span<const float>(plain).subspan(c * kVoxels, kVoxels));
    for (std::size_t i = 0; i < kVoxels; ++i) {
      REQUIRE(turned[c * kVoxels + i] == Approx(expected[i]).margin(1e-4));
      REQUIRE(twice[c * kVoxels + i] == Approx(plain[c * kVoxels + i]).margin(1e-5));
    }
  }
  REQUIRE(*std::ranges::max_element(plain) > 0.1f);
  for (const float value : of(std::vector<std::uint16_t>(kVoxels))) REQUIRE(value == 0);
}

TEST_CASE("a network reads tides under their map") {
  const std::vector<std::uint16_t> counts = clustered();
  const std::span sample(counts);
  dataset::VoxelTransform transform;
  transform.name = "log1p";
  transform.tides = 2;
  transform.tides_map = {0.25, 8};
  std::vector<float> input(3 * kVoxels);
  dataset::InputMaker(transform, kVoxels).make_beside({}, sample, std::span(input));
  dataset::TidalEigenvalues tides(transform.tides, kSide);
  const std::span<const float> plain = tides.apply(sample);
  for (std::size_t i = 0; i < input.size(); ++i) REQUIRE(input[i] == Approx(8 * (plain[i] - 0.25f)));
}
