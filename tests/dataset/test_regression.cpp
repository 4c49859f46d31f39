#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "core/error.hpp"
#include "core/random.hpp"
#include "dataset/regression/regression.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace cosmo;
using dataset::Regression;
using Eigen::Index;
using Eigen::MatrixXd;

namespace {

/// Normal deviates (rows, columns).
MatrixXd noise(Index rows, Index columns, std::uint64_t seed) {
  const core::RandomStream stream(seed, core::Purpose::bootstrap);
  MatrixXd values(rows, columns);
  for (Index i = 0; i < rows; ++i) {
    for (Index j = 0; j < columns; ++j)
      values(i, j) = stream.normals({static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(j), 0})[0];
  }
  return values;
}

/// Row i belongs to group i / size.
std::vector<std::uint32_t> groups_of(Index rows, std::uint32_t size) {
  std::vector<std::uint32_t> groups;
  for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(rows); ++i) groups.push_back(i / size);
  return groups;
}

double rms(const MatrixXd& values) {
  return std::sqrt(values.squaredNorm() / static_cast<double>(values.size()));
}

}  // namespace

TEST_CASE("a linear function is learned from correlated features of any scale, and a constant is left out") {
  const Index rows = 300;
  MatrixXd x = noise(rows, 6, 1);
  x.col(1) = x.col(0) + 0.01 * x.col(1);
  x.col(2) = (1e6 * x.col(2)).array() + 1e7;
  x.col(3).setConstant(0.1);
  const auto truth = [](const MatrixXd& f) -> MatrixXd {
    return (3 * f.col(0) - 2e-6 * f.col(2)).array() + 5;
  };
  const Regression regression(x, truth(x) + 0.1 * noise(rows, 1, 2), groups_of(rows, 1));
  MatrixXd fresh = noise(rows, 6, 3);
  fresh.col(1) = fresh.col(0) + 0.01 * fresh.col(1);
  fresh.col(2) = (1e6 * fresh.col(2)).array() + 1e7;
  fresh.col(3).setConstant(77);  // was constant in training
  CHECK(rms(regression.predict(fresh) - truth(fresh)) < 0.03);
  CHECK(regression.choices()[0].components == 0);
}

TEST_CASE("cross-validation finds that a product is worth its coefficients") {
  const Index rows = 400;
  const MatrixXd x = noise(rows, 5, 4), fresh = noise(rows, 5, 5);
  const auto truth = [](const MatrixXd& f) -> MatrixXd {
    MatrixXd y(f.rows(), 2);
    y.col(0) = f.col(0) + f.col(1).cwiseProduct(f.col(2));
    y.col(1) = f.col(3);
    return y;
  };
  const Regression regression(x, truth(x) + 0.05 * noise(rows, 2, 6), groups_of(rows, 1));
  CHECK(regression.choices()[0].components >= 3);
  CHECK(rms((regression.predict(fresh) - truth(fresh)).col(1)) < 0.02);
  // Independent features have arbitrary principal components: only all five of them span all products.
  CHECK(regression.held_out().rows() == rows);
}

TEST_CASE("held-out rows have the errors of fresh ones, and noise is predicted by the mean") {
  const Index rows = 500;
  MatrixXd x = noise(rows, 20, 7), fresh = noise(rows, 20, 8);
  const MatrixXd y = x.col(0) + noise(rows, 1, 9), fresh_y = fresh.col(0) + noise(rows, 1, 10);
  const Regression regression(x, y, groups_of(rows, 1));
  const double held_out = rms(regression.held_out() - y);
  CHECK(held_out == Approx(rms(regression.predict(fresh) - fresh_y)).epsilon(0.15));
  CHECK(held_out == Approx(1.0).epsilon(0.12));
  const Regression of_nothing(x, noise(rows, 1, 11), groups_of(rows, 1));
  CHECK(rms(of_nothing.predict(fresh)) < 0.15);
  CHECK(of_nothing.choices()[0].penalty > 1);
}

TEST_CASE("a group is never split: a feature that only marks its group predicts nothing") {
  // Eight nearly equal rows per group, with a target of pure noise: split groups would let it be memorised.
  const Index groups = 60, size = 8;
  const MatrixXd marks = noise(groups, 50, 12), targets = noise(groups, 1, 13);
  MatrixXd x(groups * size, 50), y(groups * size, 1);
  for (Index i = 0; i < x.rows(); ++i) {
    x.row(i) = marks.row(i / size);
    y.row(i) = targets.row(i / size);
  }
  x += 1e-3 * noise(x.rows(), 50, 14);
  const Regression whole(x, y, groups_of(x.rows(), size));
  CHECK(rms(whole.held_out() - y) > 0.95 * rms(y));
  const Regression parted(x, y, groups_of(x.rows(), 1));
  CHECK(rms(parted.held_out() - y) < 0.6 * rms(y));
}

TEST_CASE("features that are not finite are refused, those of two rows are learned from") {
  MatrixXd x = noise(4, 2, 15);
  CHECK_NOTHROW(Regression(x.topRows(2), x.topRows(2), groups_of(2, 1)));
  x(1, 1) = std::nan("");
  CHECK_THROWS_AS(Regression(x, noise(4, 1, 16), groups_of(4, 1)), core::Error);
}

TEST_CASE("features that are all constant predict the mean") {
  const MatrixXd features = MatrixXd::Constant(20, 3, 7.0);
  MatrixXd targets(20, 2);
  std::vector<std::uint32_t> groups;
  for (Index i = 0; i < targets.rows(); ++i) {
    targets.row(i) << static_cast<double>(i), 5.0;
    groups.push_back(static_cast<std::uint32_t>(i));
  }
  const MatrixXd predicted = Regression(features, targets, groups).predict(features);
  CHECK(predicted.rows() == 20);
  for (Index i = 0; i < predicted.rows(); ++i) {
    CHECK(predicted(i, 0) == Approx(9.5));
    CHECK(predicted(i, 1) == Approx(5));
  }
}

TEST_CASE("a regression that was written and read predicts the same bits") {
  const Index rows = 400;
  MatrixXd x = noise(rows, 5, 4);
  x.col(1).setConstant(0.5);  // left out
  MatrixXd y(rows, 2);
  y.col(0) = x.col(0) + x.col(2).cwiseProduct(x.col(3));
  y.col(1) = x.col(4);
  const Regression regression(x, y, groups_of(rows, 1));
  const TemporaryDirectory directory;
  {
    auto file = core::hdf5::File::create(directory.path() / "regression.h5");
    regression.write(file, "regression");
  }
  const Regression read =
      Regression::read(core::hdf5::File::open(directory.path() / "regression.h5"), "regression", 2);
  const MatrixXd fresh = noise(50, 5, 5);
  CHECK(read.predict(fresh) == regression.predict(fresh));
  CHECK(read.fits(5));
  CHECK_FALSE(read.fits(4));
  CHECK_THROWS_AS(
      Regression::read(core::hdf5::File::open(directory.path() / "regression.h5"), "regression", 3),
      core::Error);
  {
    auto file = core::hdf5::File::create(directory.path() / "other.h5");
    file.create_group("regression");
  }
  CHECK_THROWS_AS(Regression::read(core::hdf5::File::open(directory.path() / "other.h5"), "regression", 2),
                  core::Error);
}
