#include "dataset/regression/regression.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "core/error.hpp"
#include "core/random.hpp"

namespace cosmo::dataset {

namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr std::size_t kFolds = 10;
constexpr Index kComponents[] = {0, 3, 6, 10};
constexpr Index kGroupsPerProduct = 4;  ///< no more products of components than a quarter of the groups

/// 1e-6 ... 100, two per decade.
std::vector<double> penalties() {
  std::vector<double> values;
  for (int i = -12; i <= 4; ++i) values.push_back(std::pow(10, i / 2.0));
  return values;
}

/// Number of products of `components` components, squares included.
Index products(Index components) { return components * (components + 1) / 2; }

/// The rows of each fold: groups are dealt out at random, the same way every time.
std::vector<std::vector<Index>> folds_of(std::span<const std::uint32_t> groups) {
  std::map<std::uint32_t, std::size_t> fold;
  for (const std::uint32_t group : groups) fold[group] = 0;
  const auto order =
      core::shuffled({0, core::Purpose::cross_validation}, static_cast<std::uint32_t>(fold.size()));
  std::vector<std::vector<Index>> rows(std::min(kFolds, fold.size()));
  core::ensure(rows.size() > 1, core::Fault::internal, "A regression needs two groups of rows.");
  std::size_t place = 0;
  for (auto& [group, number] : fold) number = order[place++] % rows.size();
  for (std::size_t row = 0; row < groups.size(); ++row) {
    rows[fold.at(groups[row])].push_back(static_cast<Index>(row));
  }
  return rows;
}

/// Sums over rows from which a regression follows.
struct Sums {
  double rows = 0;
  VectorXd x, y;
  MatrixXd xx, xy;

  Sums(const MatrixXd& features, const MatrixXd& targets)
      : rows(static_cast<double>(features.rows())),
        x(features.colwise().sum()),
        y(targets.colwise().sum()),
        xx(features.transpose() * features),
        xy(features.transpose() * targets) {}

  void subtract(const Sums& others) {
    rows -= others.rows;
    x -= others.x;
    y -= others.y;
    xx -= others.xx;
    xy -= others.xy;
  }
};

/// The regressions on the first `width` features, for any penalty.
struct Solver {
  VectorXd x, y;         ///< means
  VectorXd variances;    ///< eigenvalues of the features' covariance
  MatrixXd axes, along;  ///< its eigenvectors; covariance of those with the targets

  /// `width` may be 0: then the prediction is the mean.
  Solver(const Sums& sums, Index width)
      : x(sums.x.head(width) / sums.rows),
        y(sums.y / sums.rows),
        variances(width),
        axes(width, width),
        along(width, sums.y.size()) {
    if (width == 0) return;  // Eigen has no eigenvalues of an empty matrix
    const Eigen::SelfAdjointEigenSolver<MatrixXd> solver(sums.xx.topLeftCorner(width, width) / sums.rows -
                                                         x * x.transpose());
    variances = solver.eigenvalues().cwiseMax(0.0);
    axes = solver.eigenvectors();
    along = axes.transpose() * (sums.xy.topRows(width) / sums.rows - x * y.transpose());
  }

  MatrixXd coefficients(double penalty) const {
    return axes * (variances.array() + penalty).inverse().matrix().asDiagonal() * along;
  }
  MatrixXd predict(const MatrixXd& features, double penalty) const {
    return ((features.leftCols(x.size()).rowwise() - x.transpose()) * coefficients(penalty)).rowwise() +
           y.transpose();
  }
};

/// The rows of `matrix` in a fold.
MatrixXd rows_of(const MatrixXd& matrix, const std::vector<Index>& rows) { return matrix(rows, Eigen::all); }

}  // namespace

/// What the regression learns from, and how well it did so far.
struct Regression::Fit {
  MatrixXd features;  ///< expanded (rows, ...)
  const MatrixXd& targets;
  std::vector<std::vector<Index>> folds;
  Sums all;
  VectorXd least;  ///< sums of squared errors of held-out rows by the best choices so far (P)
};

Regression::Regression(const MatrixXd& features, const MatrixXd& targets,
                       std::span<const std::uint32_t> groups) {
  core::ensure(features.allFinite() && targets.allFinite(), core::Fault::numeric,
               "A regression's features or targets are not finite: check the training samples.");
  auto folds = folds_of(groups);
  prepare(features, static_cast<Index>(std::set(groups.begin(), groups.end()).size()));
  const MatrixXd expanded = expand(features);
  choices_.resize(static_cast<std::size_t>(targets.cols()));
  held_out_.resize(targets.rows(), targets.cols());
  coefficients_ = MatrixXd::Zero(expanded.cols(), targets.cols());
  intercept_.resize(targets.cols());
  Fit fit{expanded, targets, std::move(folds), Sums(expanded, targets),
          VectorXd::Constant(targets.cols(), std::numeric_limits<double>::infinity())};
  for (const Index count : kComponents) {
    if (count <= components_.cols()) try_products(count, fit);
  }
}

/// Tries all penalties with products of `count` components; each target keeps its best choice so far.
void Regression::try_products(Index count, Fit& fit) {
  const Index width = static_cast<Index>(used_.size()) + products(count);
  const Solver whole(fit.all, width);
  std::vector<Solver> without;
  for (const auto& rows : fit.folds) {
    Sums rest = fit.all;
    rest.subtract({rows_of(fit.features, rows), rows_of(fit.targets, rows)});
    without.emplace_back(rest, width);
  }
  for (const double penalty : penalties()) {
    MatrixXd predicted(fit.targets.rows(), fit.targets.cols());
    for (std::size_t f = 0; f < without.size(); ++f) {
      const auto& rows = fit.folds[f];
      predicted(rows, Eigen::all) = without[f].predict(rows_of(fit.features, rows), penalty);
    }
    const VectorXd errors = (predicted - fit.targets).colwise().squaredNorm();
    const MatrixXd coefficients = whole.coefficients(penalty);
    for (Index p = 0; p < errors.size(); ++p) {
      if (errors[p] >= fit.least[p]) continue;
      fit.least[p] = errors[p];
      choices_[static_cast<std::size_t>(p)] = {static_cast<int>(count), penalty};
      held_out_.col(p) = predicted.col(p);
      coefficients_.col(p).setZero();
      coefficients_.col(p).head(width) = coefficients.col(p);
      intercept_[p] = whole.y[p] - whole.x.dot(coefficients.col(p));
    }
  }
}

/// Finds how features are standardised, and their principal components.
void Regression::prepare(const MatrixXd& features, Index groups) {
  const auto rows = static_cast<double>(features.rows());
  const VectorXd mean = features.colwise().mean();
  const VectorXd deviation =
      ((features.rowwise() - mean.transpose()).colwise().squaredNorm() / rows).cwiseSqrt();
  for (Index f = 0; f < features.cols(); ++f) {
    if (deviation[f] > 1e-9 * (std::abs(mean[f]) + 1e-3)) used_.push_back(f);
  }
  mean_ = mean(used_);
  deviation_ = deviation(used_);
  if (used_.empty()) return;
  const MatrixXd standard = expand(features);
  const Eigen::SelfAdjointEigenSolver<MatrixXd> solver(standard.transpose() * standard / rows);
  Index count = 0;
  for (const Index candidate : kComponents) {
    if (kGroupsPerProduct * products(candidate) <= groups && candidate <= standard.cols()) count = candidate;
  }
  // Eigenvalues ascend; components without variance hold no information.
  const VectorXd variances = solver.eigenvalues().tail(count).reverse();
  while (count > 0 && variances[count - 1] < 1e-9 * variances[0]) --count;
  components_ = solver.eigenvectors().rightCols(standard.cols()).rowwise().reverse().leftCols(count) *
                variances.head(count).cwiseSqrt().cwiseInverse().asDiagonal();
}

/// Standardised features, then products of components ordered so that those of the first few come first.
MatrixXd Regression::expand(const MatrixXd& features) const {
  const auto linear = static_cast<Index>(used_.size());
  MatrixXd expanded(features.rows(), linear + products(components_.cols()));
  expanded.leftCols(linear) =
      (features(Eigen::all, used_).rowwise() - mean_.transpose()) * deviation_.cwiseInverse().asDiagonal();
  if (components_.cols() == 0) return expanded;
  const MatrixXd scores = expanded.leftCols(linear) * components_;
  Index column = linear;
  for (Index i = 0; i < scores.cols(); ++i) {
    for (Index j = 0; j <= i; ++j) {
      expanded.col(column++) = scores.col(i).cwiseProduct(scores.col(j)) * (i == j ? std::sqrt(0.5) : 1.0);
    }
  }
  return expanded;
}

bool Regression::fits(Index features) const {
  return std::ranges::all_of(used_, [&](Index feature) { return feature < features; });
}

MatrixXd Regression::predict(const MatrixXd& features) const {
  core::ensure(fits(features.cols()), core::Fault::internal, "A regression has learned from other features.");
  return (expand(features) * coefficients_).rowwise() + intercept_.transpose();
}

namespace {

using core::hdf5::File;

void write_matrix(File& file, const std::string& name, const MatrixXd& matrix) {
  std::vector<double> values;  // row-major
  for (Index row = 0; row < matrix.rows(); ++row) {
    for (Index column = 0; column < matrix.cols(); ++column) values.push_back(matrix(row, column));
  }
  file.write(name, {static_cast<hsize_t>(matrix.rows()), static_cast<hsize_t>(matrix.cols())},
             std::span<const double>(values));
}

MatrixXd read_matrix(const File& file, const std::string& name, Index rows, Index columns) {
  const std::vector<double> values =
      file.read<double>(name, {static_cast<hsize_t>(rows), static_cast<hsize_t>(columns)});
  MatrixXd matrix(rows, columns);
  for (Index row = 0; row < rows; ++row) {
    for (Index column = 0; column < columns; ++column)
      matrix(row, column) = values[static_cast<std::size_t>(row * columns + column)];
  }
  return matrix;
}

}  // namespace

void Regression::write(File& file, const std::string& group) const {
  std::vector<std::uint32_t> used;
  for (const Index feature : used_) used.push_back(static_cast<std::uint32_t>(feature));
  file.write(group + "/features", {used.size()}, std::span<const std::uint32_t>(used));
  write_matrix(file, group + "/mean", mean_);
  write_matrix(file, group + "/deviation", deviation_);
  write_matrix(file, group + "/components", components_);
  write_matrix(file, group + "/coefficients", coefficients_);
  write_matrix(file, group + "/intercept", intercept_);
}

Regression Regression::read(const File& file, const std::string& group, Index targets) {
  const auto size = [&](const char* name, std::size_t axis) {
    const core::hdf5::Shape shape = file.dataset(group + "/" + name).shape();
    core::ensure(shape.size() > axis, core::Fault::format,
                 "The dataset {}/{} of a regression has the wrong shape.", group, name);
    return static_cast<Index>(shape[axis]);
  };
  const Index features = size("features", 0);
  Regression made;
  for (const std::uint32_t feature :
       file.read<std::uint32_t>(group + "/features", {static_cast<hsize_t>(features)}))
    made.used_.push_back(feature);
  made.mean_ = read_matrix(file, group + "/mean", features, 1);
  made.deviation_ = read_matrix(file, group + "/deviation", features, 1);
  made.components_ = read_matrix(file, group + "/components", features, size("components", 1));
  made.coefficients_ =
      read_matrix(file, group + "/coefficients", features + products(made.components_.cols()), targets);
  made.intercept_ = read_matrix(file, group + "/intercept", targets, 1);
  core::ensure(made.mean_.allFinite() && made.deviation_.allFinite() && made.components_.allFinite() &&
                   made.coefficients_.allFinite() && made.intercept_.allFinite() &&
                   (made.deviation_.array() > 0).all(),
               core::Fault::format, "A regression holds values that are not finite: train again.");
  return made;
}

}  // namespace cosmo::dataset
