#include "nn/density/fit/linear_factor.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>

#include "nn/density/columns.hpp"
#include "nn/density/cut_mixture.hpp"

namespace cosmo::nn {

namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

/// The loss of a linear factor, and the sums of its samples' derivatives and of their outer products.
struct Scores {
  double loss;
  VectorXd first;
  MatrixXd outer;
};

/// Inverse variances of a normal prior of the slopes, the centre and the log deviation, all about 0. Samples of a parameter that
/// the inputs leave open have no most likely factor: the wider and the further off, the better.
VectorXd prior_of(std::size_t inputs) {
  constexpr double kOfCentre = 1e-4, kOfLogDeviation = 0.25;
  VectorXd prior = VectorXd::Constant(static_cast<Index>(inputs) + 2, kOfCentre);
  prior.tail<1>()[0] = kOfLogDeviation;
  return prior;
}

/// `fitted`: the slopes, the centre, the log deviation.
Scores scores_of(const FactorSamples& samples, const VectorXd& fitted) {
  const auto inputs = static_cast<Index>(samples.inputs), rows = static_cast<Index>(samples.size());
  const Eigen::Map<const MatrixXd> x(samples.x.data(), inputs, rows);
  Columns outputs(kOutputsPerComponent, static_cast<int>(rows)), derivatives = outputs;
  const VectorXd centres = (x.transpose() * fitted.head(inputs)).array() + fitted[inputs];
  std::copy(centres.begin(), centres.end(), outputs.row(1).begin());
  std::ranges::fill(outputs.row(2).first(samples.size()), fitted[inputs + 1]);
  const double loss = factor_loss(outputs, {samples.y, samples.low, samples.high}, derivatives);
  MatrixXd slopes(inputs + 2, rows);
  const Eigen::Map<const Eigen::RowVectorXd> of_centre(derivatives.row(1).data(), rows);
  slopes.topRows(inputs) = x * of_centre.asDiagonal();
  slopes.row(inputs) = of_centre;
  slopes.row(inputs + 1) = Eigen::Map<const Eigen::RowVectorXd>(derivatives.row(2).data(), rows);
  const VectorXd prior = prior_of(samples.inputs), pull = prior.cwiseProduct(fitted);
  MatrixXd outer = slopes * slopes.transpose();
  outer.diagonal() += prior;
  return {loss + pull.dot(fitted) / 2, slopes.rowwise().sum() + pull, outer};
}

}  // namespace

std::vector<FactorSamples> factor_samples(const Coordinates& coordinates, const DensityPairs& pairs) {
  std::vector<FactorSamples> made(pairs.parameters);
  std::vector<double> x(coordinates.size());
  for (std::size_t row = 0; row < pairs.rows(); ++row) {
    coordinates.of_features(pairs.s_of(row), x);
    for (std::size_t i = 0; i < pairs.parameters; ++i) {
      const double centre = coordinates.centre_of(i, x), scale = coordinates.scale_of(i);
      const std::size_t inputs = pairs.features + i;
      FactorSamples& samples = made[i];
      samples.inputs = inputs;
      samples.x.insert(samples.x.end(), x.begin(), x.begin() + static_cast<std::ptrdiff_t>(inputs));
      samples.y.push_back((pairs.theta_of(row)[i] - centre) / scale);
      samples.low.push_back((-1 - centre) / scale);
      samples.high.push_back((1 - centre) / scale);
      x[inputs] = samples.y.back();
    }
  }
  return made;
}

LinearFactor fit_linear_factor(const FactorSamples& samples) {
  constexpr int kMostSteps = 60;
  constexpr double kConverged = 1e-3;  // of the loss of all samples together
  const auto inputs = static_cast<Index>(samples.inputs);
  VectorXd fitted = VectorXd::Zero(inputs + 2);
  Scores now = scores_of(samples, fitted);
  double damping = 1e-2;
  for (int step = 0; step < kMostSteps && damping < 1e6; ++step) {
    MatrixXd outer = now.outer;
    outer.diagonal() += (damping * now.outer.diagonal().array() + 1e-9).matrix();
    const VectorXd next = fitted - outer.ldlt().solve(now.first);
    Scores then = scores_of(samples, next);
    if (!(then.loss < now.loss)) {
      damping *= 8;
      continue;
    }
    const double gain = now.loss - then.loss;
    fitted = next;
    now = std::move(then);
    damping /= 4;
    if (gain < kConverged) break;
  }
  const double rows = static_cast<double>(samples.size()), free = rows - static_cast<double>(inputs) - 1;
  return {{fitted.begin(), fitted.begin() + inputs},
          fitted[inputs],
          fitted[inputs + 1] + 0.5 * std::log(rows / free)};
}

}  // namespace cosmo::nn
