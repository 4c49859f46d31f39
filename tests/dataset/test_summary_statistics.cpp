#include <omp.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <numbers>

#include "core/error.hpp"
#include "core/random.hpp"
#include "dataset/measure/summary_statistics.hpp"

using namespace cosmo;
using dataset::SampleSummary;
using dataset::SummaryStatistics;
using dataset::VoxelKind;

namespace {

const dataset::VoxelScale kCountScale{VoxelKind::counts, 8};

/// A value (n, n, n) of each voxel.
template <class T, class Value>
std::vector<T> filled(int n, const Value& value) {
  std::vector<T> voxels;
  for (int x = 0; x < n; ++x) {
    for (int y = 0; y < n; ++y) {
      for (int z = 0; z < n; ++z) voxels.push_back(static_cast<T>(value(x, y, z)));
    }
  }
  return voxels;
}

/// Poisson counts of this mean, by multiplying uniform deviates until they fall below exp(-mean).
std::vector<std::uint16_t> poisson_counts(int n, double mean) {
  const core::RandomStream stream(5, core::Purpose::bootstrap);
  return filled<std::uint16_t>(n, [&](int x, int y, int z) {
    const auto voxel = static_cast<std::uint32_t>((x * n + y) * n + z);
    std::uint32_t draw = 0;
    for (double product = 1; (product *= stream.uniform({voxel, draw, 0})) > std::exp(-mean);) ++draw;
    return draw;
  });
}

void check_all(const std::vector<double>& found, const std::vector<double>& expected, double tolerance) {
  REQUIRE(found.size() == expected.size());
  for (std::size_t b = 0; b < found.size(); ++b) CHECK(found[b] == Approx(expected[b]).epsilon(tolerance));
}

}  // namespace

TEST_CASE("the statistics of counts agree with numpy") {
  // c = (7x + 13y + 29z + xyz) % 11 * ((x + 2y + 3z) % 5) in a box of 64; numpy.fft.fftn, numpy.bincount of
  // floor(|k| + 1/2), numpy.histogram.
  const auto counts = filled<std::uint16_t>(8, [](int x, int y, int z) {
    return (7 * x + 13 * y + 29 * z + x * y * z) % 11 * ((x + 2 * y + 3 * z) % 5);
  });
  SampleSummary summary({8, 64.0}, kCountScale);
  const SummaryStatistics found = summary.of(counts);
  check_all(found.power, {196.794962368307, 222.286890664127, 309.310178888957, 615.15070083239}, 1e-5);
  check_all(found.log_power, {168.827655352006, 253.608859930613, 467.208450369737, 1083.792910011326}, 1e-5);
  CHECK(found.mean == Approx(10.568359375).epsilon(1e-14));
  CHECK(found.skewness == Approx(0.862606319565).epsilon(1e-10));
  CHECK(found.kurtosis == Approx(-0.351711055185).epsilon(1e-10));
  const double voxels[] = {136, 5, 17, 13, 35, 46, 70, 31, 72, 58, 29};
  for (std::size_t b = 0; b < dataset::kValueBins; ++b) {
    CHECK(found.distribution[b] * 512 == Approx(b < std::size(voxels) ? voxels[b] : 0));
  }
  CHECK(summary.modes() == std::vector<std::int64_t>{18, 62, 98, 171});
  check_all(summary.k(), {0.125284984687, 0.219008581488, 0.307695355557, 0.394230361414}, 1e-11);
}

TEST_CASE("Poisson counts have the power, skewness and kurtosis of shot noise") {
  const int n = 32;
  const double mean = 3, volume = std::pow(100.0, 3), voxels = n * n * n;
  SampleSummary summary({n, 100.0}, kCountScale);
  const SummaryStatistics found = summary.of(poisson_counts(n, mean));
  CHECK(found.mean == Approx(mean).margin(4 * std::sqrt(mean / voxels)));
  const double level = volume / (found.mean * voxels);  // 1 / number density
  for (std::size_t b = 0; b < found.power.size(); ++b) {
    const double deviation = std::sqrt(2.0 / static_cast<double>(summary.modes()[b]));
    CHECK(found.power[b] / level == Approx(1).margin(4.5 * deviation));
  }
  CHECK(found.skewness == Approx(1 / std::sqrt(mean)).margin(0.06));
  CHECK(found.kurtosis == Approx(1 / mean).margin(0.12));
  for (int count = 0; count < 4; ++count) {
    const double expected = std::exp(-mean) * std::pow(mean, count) / std::tgamma(count + 1);
    CHECK(found.distribution[static_cast<std::size_t>(count)] ==
          Approx(expected).margin(4 * std::sqrt(expected / voxels)));
  }
}

TEST_CASE("a field is measured in its deviations: white noise and a plane wave have their closed forms") {
  const int n = 24;
  const double volume = std::pow(50.0, 3);
  const core::RandomStream stream(7, core::Purpose::bootstrap);
  const auto noise = filled<float>(n, [&](int x, int y, int z) {
    return 5 + 2 * stream.normals({static_cast<std::uint32_t>((x * n + y) * n + z), 0, 0})[0];
  });
  SampleSummary summary({n, 50.0}, {VoxelKind::field, 5, 2});
  const SummaryStatistics white = summary.of(noise);
  for (std::size_t b = 0; b < white.power.size(); ++b) {
    const double deviation = std::sqrt(2.0 / static_cast<double>(summary.modes()[b]));
    CHECK(white.power[b] * (n * n * n) / volume == Approx(1).margin(4.5 * deviation));
  }
  CHECK(white.mean == Approx(0).margin(4 / std::sqrt(n * n * n)));
  CHECK(white.skewness == Approx(0).margin(4 * std::sqrt(6.0 / (n * n * n))));
  CHECK(white.kurtosis == Approx(0).margin(4 * std::sqrt(24.0 / (n * n * n))));
  CHECK(white.distribution[16] == Approx(0.0987).margin(0.011));  // between 0 and 1/4 of a deviation

  const SummaryStatistics wave = summary.of(filled<float>(n, [&](int x, int y, int z) {
    return 5 + 0.6 * std::cos(2 * std::numbers::pi * (2 * x - y + 3 * z) / n);
  }));
  const std::size_t bin = 3;  // sqrt(14) = 3.74 is nearest to 4
  for (std::size_t b = 0; b < wave.power.size(); ++b) {
    const double sum = wave.power[b] * static_cast<double>(summary.modes()[b]) / volume;
    CHECK(sum == Approx(b == bin ? 2 * 0.15 * 0.15 : 0).margin(1e-8));
  }
  CHECK(wave.kurtosis == Approx(-1.5).epsilon(1e-5));  // of a cosine
}

TEST_CASE("a sample without structure or particles has no power, and another kind or size is refused") {
  SampleSummary summary({4, 1.0}, kCountScale);
  for (const int count : {0, 65535}) {
    const SummaryStatistics flat = summary.of(std::vector(64, static_cast<std::uint16_t>(count)));
    CHECK(flat.power == std::vector<double>{0, 0});
    CHECK(flat.log_power == std::vector<double>{0, 0});
    CHECK((flat.skewness == 0 && flat.kurtosis == 0 && flat.mean == count));
    CHECK(flat.distribution[count == 0 ? 0 : dataset::kValueBins - 1] == 1);
  }
  CHECK_THROWS_AS(summary.of(std::vector<std::uint16_t>(27)), core::Error);
  CHECK_THROWS_AS(summary.of(std::vector<float>(64)), core::Error);
  CHECK_THROWS_AS(SampleSummary({3, 1.0}, kCountScale), core::Error);
  CHECK_THROWS_AS(SampleSummary({4, 1.0}, {VoxelKind::field, 5, 0}), core::Error);
}

TEST_CASE("the same bits from any number of threads") {
  const auto counts = poisson_counts(20, 1);
  SampleSummary summary({20, 10.0}, kCountScale);
  const int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  const SummaryStatistics one = summary.of(counts);
  omp_set_num_threads(3);
  const SummaryStatistics three = summary.of(counts);
  omp_set_num_threads(threads);
  CHECK(one.power == three.power);
  CHECK(one.log_power == three.log_power);
  CHECK((one.skewness == three.skewness && one.kurtosis == three.kurtosis));
}
