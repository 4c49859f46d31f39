#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/hdf5/hdf5.hpp"

namespace cosmo::dataset {

/// The numbers of a matrix row by row.
template <class T>
std::vector<T> row_major(const Eigen::MatrixXd& matrix) {
  std::vector<T> values;
  for (Eigen::Index row = 0; row < matrix.rows(); ++row) {
    for (Eigen::Index column = 0; column < matrix.cols(); ++column)
      values.push_back(static_cast<T>(matrix(row, column)));
  }
  return values;
}

/// What a regression consists of: predictions are those of Regression::predict.
struct RegressionParts {
  const std::vector<Eigen::Index>& used;    ///< features that vary
  const Eigen::VectorXd &mean, &deviation;  ///< (used)
  const Eigen::MatrixXd& components;        ///< (used, components) to principal components of variance 1
  const Eigen::MatrixXd& coefficients;      ///< (used, then products of components; P)
  const Eigen::VectorXd& intercept;         ///< (P)
};

/// Ridge regression of targets on features, and on products of their leading principal components. Their
/// number and the penalty are chosen for each target by cross-validation whose folds never split a group. The
/// cost grows only linearly with the number of rows.
///
/// Features are standardised; those that do not vary are left out. Coefficients minimise the mean squared
/// error plus `penalty` times their sum of squares.
class Regression {
 public:
  /// Learns targets (rows, P) from features (rows, F); groups (rows), at least two different ones. Throws
  /// Error{numeric} for a feature that is not finite.
  Regression(const Eigen::MatrixXd& features, const Eigen::MatrixXd& targets,
             std::span<const std::uint32_t> groups);

  /// Whether all features that it has learned from are among the first `features`, which is not so if its
  /// file is damaged.
  bool fits(Eigen::Index features) const;
  /// Predicts targets (rows, P) from features (rows, F), for which fits() must hold.
  Eigen::MatrixXd predict(const Eigen::MatrixXd& features) const;
  /// Predictions for the rows that it has learned from (rows, P), each with the row's own fold held out.
  const Eigen::MatrixXd& held_out() const { return held_out_; }

  /// Valid as long as the regression.
  RegressionParts parts() const { return {used_, mean_, deviation_, components_, coefficients_, intercept_}; }

  /// Writes what predict() needs to a group of a file.
  void write(core::hdf5::File& file, const std::string& group) const;
  /// Throws Error{format} if the group does not hold a regression of `targets` targets. The result's
  /// held_out() and choices() are empty.
  static Regression read(const core::hdf5::File& file, const std::string& group, Eigen::Index targets);

  /// What cross-validation has chosen for a target.
  struct Choice {
    int components;  ///< principal components whose products are features
    double penalty;
  };
  const std::vector<Choice>& choices() const { return choices_; }

 private:
  Regression() = default;
  struct Fit;
  void try_products(Eigen::Index count, Fit& fit);
  void prepare(const Eigen::MatrixXd& features, Eigen::Index groups);
  Eigen::MatrixXd expand(const Eigen::MatrixXd& features) const;

  std::vector<Eigen::Index> used_;    ///< features that vary
  Eigen::VectorXd mean_, deviation_;  ///< (used)
  Eigen::MatrixXd components_;        ///< (used, components) to principal components of variance 1
  Eigen::MatrixXd coefficients_;      ///< (expanded, P)
  Eigen::VectorXd intercept_;         ///< (P)
  Eigen::MatrixXd held_out_;
  std::vector<Choice> choices_;
};

}  // namespace cosmo::dataset
