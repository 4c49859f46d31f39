// The distance of features from those of the training universes.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "core/error.hpp"
#include "core/hdf5/hdf5.hpp"
#include "core/random.hpp"
#include "nn/density/feature_distance.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace cosmo;
using nn::FeatureDistance;
using nn::FeatureRows;

namespace {

/// Rows first ... first + count - 1 of normal numbers x and y = x / 2 + 10 z, and a third feature that does not vary.
FeatureRows normal_rows(std::uint32_t first, std::uint32_t count, double shift = 0) {
  const core::RandomStream stream(5, core::Purpose::gaussian_field);
  FeatureRows rows{3, {}};
  for (std::uint32_t i = first; i < first + count; ++i) {
    const auto [x, z] = stream.normals({i, 0, 0});
    rows.values.insert(rows.values.end(), {x + shift, x / 2 + 10 * z, 4.0});
  }
  return rows;
}

/// A few rows of three waves.
FeatureRows waves(int count) {
  FeatureRows rows{3, {}};
  for (int i = 0; i < count; ++i) {
    for (int f = 0; f < 3; ++f)
      rows.values.push_back(std::sin(1.3 * i + 0.9 * f * f) + 0.4 * std::cos(0.7 * i * (f + 1)));
  }
  return rows;
}

}  // namespace

TEST_CASE("the distance of a few rows is that with a covariance shrunk as by Ledoit and Wolf") {
  // Computed with NumPy from the definition of the shrinkage.
  const auto distance = FeatureDistance::fit(waves(12), waves(8));
  REQUIRE(distance);
  const std::vector<double> point = {1, -0.5, 2};
  CHECK(distance->of(point).distance == Approx(2.1474050722884193).epsilon(1e-12));
  CHECK(distance->of(point).rank == 0);
  CHECK(distance->of(waves(1).row(0)).rank == 0.5);
}

TEST_CASE("of many rows it is Mahalanobis's, and ranks are even") {
  const FeatureRows validation = normal_rows(20000, 400), fresh = normal_rows(30000, 4000);
  const auto distance = FeatureDistance::fit(normal_rows(0, 20000), validation);
  REQUIRE(distance);
  CHECK(distance->compared() == 400);
  double largest = 0;
  for (std::size_t i = 0; i < validation.rows(); ++i) {
    const double x = validation.row(i)[0], z = (validation.row(i)[1] - x / 2) / 10;
    largest = std::max(largest, std::hypot(x, z));
  }
  int far = 0, below_half = 0;
  for (std::size_t i = 0; i < fresh.rows(); ++i) {
    const double x = fresh.row(i)[0], z = (fresh.row(i)[1] - x / 2) / 10;
    const nn::Farness farness = distance->of(fresh.row(i));
    CHECK(farness.distance == Approx(std::hypot(x, z) / largest).epsilon(0.03).margin(0.003));
    far += farness.rank <= 0.05;
    below_half += farness.rank < 0.5;
  }
  CHECK(far / 4000.0 == Approx(0.05).margin(0.03));
  CHECK(below_half / 4000.0 == Approx(0.5).margin(0.08));
  CHECK(distance->of(normal_rows(30000, 1, 8).row(0)).rank == 0);
}

TEST_CASE("a distance comes back from its file, and one that cannot be is refused") {
  const TemporaryDirectory directory;
  const std::string path = (directory.path() / "distance.h5").string();
  const auto distance = FeatureDistance::fit(normal_rows(0, 50), normal_rows(100, 20));
  REQUIRE(distance);
  {
    core::hdf5::File file = core::hdf5::File::create(path);
    distance->write(file, "far");
    file.close();
  }
  const auto file = core::hdf5::File::open(path);
  const FeatureDistance again = FeatureDistance::read(file, path, "far");
  const FeatureRows rows = normal_rows(200, 5);
  for (std::size_t i = 0; i < rows.rows(); ++i) {
    CHECK(again.of(rows.row(i)).distance == distance->of(rows.row(i)).distance);
    CHECK(again.of(rows.row(i)).rank == distance->of(rows.row(i)).rank);
  }
  CHECK_THROWS_AS(FeatureDistance::read(file, path, "near"), core::Error);
}

TEST_CASE("there is no distance where nothing varies, or of too few universes") {
  const FeatureRows flat{2, std::vector<double>(40, 1.0)};
  CHECK_FALSE(FeatureDistance::fit(flat, flat));
  CHECK_FALSE(FeatureDistance::fit(normal_rows(0, 50), normal_rows(50, 7)));
  CHECK_FALSE(FeatureDistance::fit(normal_rows(0, 7), normal_rows(50, 50)));
  CHECK_FALSE(FeatureDistance::fit({}, {}));
}
