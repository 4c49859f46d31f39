#include "infer/baseline/forecast.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.hpp"
#include "core/random.hpp"

namespace cosmo::infer {

namespace {

using dataset::StatisticsTable;
using dataset::UniverseRows;

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr std::size_t kRowsPerStatistic = 8;  ///< residual degrees of freedom of the covariance
constexpr std::size_t kFewestStatistics = 3;
constexpr double kFinestGroups = 1.15;  ///< least ratio of bins of k that form a group
constexpr Index kTruths = 4096, kDraws = 1024;

/// 1, labels, their products.
std::size_t terms_of(std::size_t parameters) { return 1 + parameters + parameters * (parameters + 1) / 2; }

MatrixXd quadratic_terms(const MatrixXd& labels) {
  const Index count = labels.cols();
  MatrixXd terms(labels.rows(), static_cast<Index>(terms_of(static_cast<std::size_t>(count))));
  terms.col(0).setOnes();
  terms.middleCols(1, count) = labels;
  Index column = 1 + count;
  for (Index i = 0; i < count; ++i) {
    for (Index j = i; j < count; ++j) terms.col(column++) = labels.col(i).cwiseProduct(labels.col(j));
  }
  return terms;
}

/// Groups of bins of k, few enough to leave rows for their covariance; empty if none are.
std::vector<std::size_t> groups_for(std::size_t rows, std::size_t bins, std::size_t channels,
                                    std::size_t terms) {
  const std::size_t most = rows > terms ? (rows - terms) / kRowsPerStatistic : 0;
  for (double ratio = kFinestGroups; ratio < static_cast<double>(2 * bins + 2); ratio *= 1.05) {
    std::vector<std::size_t> groups = dataset::group_bins(bins, ratio);
    const std::size_t count = groups.size() - 1;
    if (channels * count <= most)
      return channels * count >= kFewestStatistics ? groups : std::vector<std::size_t>{};
  }
  return {};
}

std::optional<Forecast> forecast_of(const StatisticsTable& table, const std::vector<UniverseRows>& universes,
                                    bool whole, const core::ParameterSpace& space) {
  std::vector<Index> used;
  std::vector<UniverseRows> unrolled;
  for (const UniverseRows& universe : universes) {
    if (universe.roll > 0) continue;
    unrolled.push_back(universe);
    used.insert(used.end(), universe.rows.begin(), universe.rows.end());
  }
  const std::size_t rows = whole ? unrolled.size() : used.size();
  const auto groups =
      groups_for(rows, table.k.size(), table.rows.front().channels.size(), terms_of(space.size()));
  if (groups.empty() || unrolled.size() < fewest_universes(space.size())) return std::nullopt;
  const MatrixXd all = dataset::log_power(table, groups, &dataset::SummaryStatistics::power);
  const MatrixXd labels = dataset::labels_of(table, space);
  const auto chosen = [&](const MatrixXd& values) -> MatrixXd {
    return whole ? dataset::mean_rows(values, unrolled) : MatrixXd(values(used, Eigen::all));
  };
  const Eigen::ColPivHouseholderQR<MatrixXd> terms(quadratic_terms(chosen(labels)));
  if (terms.rank() < terms.cols()) return std::nullopt;
  const MatrixXd fisher = fisher_matrix(chosen(all), chosen(labels));
  return Forecast{expected_errors(fisher, space), table.k.back(), table.unit, unrolled.size(),
                  static_cast<std::size_t>(all.cols())};
}

}  // namespace

std::size_t fisher_rows(std::size_t parameters, std::size_t statistics) {
  return terms_of(parameters) + kRowsPerStatistic * statistics;
}

MatrixXd fisher_matrix(const MatrixXd& statistics, const MatrixXd& labels) {
  const auto parameters = static_cast<std::size_t>(labels.cols());
  const auto count = static_cast<std::size_t>(statistics.cols());
  core::ensure(static_cast<std::size_t>(labels.rows()) >= fisher_rows(parameters, count),
               core::Fault::internal, "A Fisher matrix of {} statistics is asked of {} rows.", count,
               labels.rows());
  const MatrixXd terms = quadratic_terms(labels);
  const Eigen::ColPivHouseholderQR<MatrixXd> fit(terms);
  const MatrixXd coefficients = fit.solve(statistics);
  const MatrixXd residuals = statistics - terms * coefficients;
  const auto freedom = static_cast<double>(terms.rows() - terms.cols());
  const MatrixXd covariance = residuals.transpose() * residuals / freedom;
  const double hartlap = (freedom - static_cast<double>(count) - 1) / freedom;
  const MatrixXd derivatives = coefficients.middleRows(1, labels.cols());  // (P, B)
  const MatrixXd information = hartlap * derivatives * covariance.ldlt().solve(derivatives.transpose());
  // Derivatives scatter by covariance × (terms' terms)⁻¹, which looks like information.
  const MatrixXd scatter = (terms.transpose() * terms).inverse().block(1, 1, labels.cols(), labels.cols());
  const MatrixXd fisher = information - static_cast<double>(count) * scatter;
  const Eigen::SelfAdjointEigenSolver<MatrixXd> solver((fisher + fisher.transpose()) / 2);
  return solver.eigenvectors() * solver.eigenvalues().cwiseMax(0.0).asDiagonal() *
         solver.eigenvectors().transpose();
}

/// The posterior of labels in [-1, 1] is exp(b θ - θ F θ / 2) there, b = F truth + noise of covariance F. Its
/// mean comes from weighted draws from the Gaussian with the prior's variance 1/3 in place of its edges.
std::vector<ParameterForecast> expected_errors(const MatrixXd& fisher, const core::ParameterSpace& space) {
  constexpr double kPrior = 3;
  const Index count = fisher.rows();
  const Eigen::SelfAdjointEigenSolver<MatrixXd> solver(fisher);
  const VectorXd values = solver.eigenvalues().cwiseMax(0.0);
  const MatrixXd& axes = solver.eigenvectors();
  const core::RandomStream stream(0, core::Purpose::forecast);
  const auto normal = [&](Index i, Index p, std::uint32_t use) {
    return stream.normals({static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(p), use})[0];
  };
  MatrixXd draws(count, kDraws);  // from the proposal, about its mean
  for (Index d = 0; d < kDraws; ++d) {
    for (Index p = 0; p < count; ++p) draws(p, d) = normal(d, p, 0) / std::sqrt(values[p] + kPrior);
  }
  draws = axes * draws;

  VectorXd squares = VectorXd::Zero(count), relative = VectorXd::Zero(count);
  for (Index t = 0; t < kTruths; ++t) {
    VectorXd truth(count), noise(count);
    for (Index p = 0; p < count; ++p) {
      truth[p] = 2 * stream.uniform({static_cast<std::uint32_t>(t), static_cast<std::uint32_t>(p), 1}) - 1;
      noise[p] = normal(t, p, 2);
    }
    const VectorXd b = values.cwiseProduct(axes.transpose() * truth) + values.cwiseSqrt().cwiseProduct(noise);
    const VectorXd centre = axes * b.cwiseQuotient((values.array() + kPrior).matrix());
    const MatrixXd theta = draws.colwise() + centre;
    const Eigen::ArrayXd inside = (theta.cwiseAbs().colwise().maxCoeff().array() <= 1).cast<double>();
    const VectorXd weights = inside * (kPrior / 2 * theta.colwise().squaredNorm().transpose().array()).exp();
    const VectorXd mean = weights.sum() > 0 ? VectorXd(theta * weights / weights.sum())
                                            : VectorXd(centre.cwiseMax(-1.0).cwiseMin(1.0));
    for (Index p = 0; p < count; ++p) {
      const auto q = static_cast<std::size_t>(p);
      const double unit = (space.high[q] - space.low[q]) / 2, middle = (space.high[q] + space.low[q]) / 2;
      const double difference = unit * (truth[p] - mean[p]);
      squares[p] += difference * difference / kTruths;
      relative[p] += std::abs(difference / (middle + unit * mean[p])) / kTruths;
    }
  }

  std::vector<ParameterForecast> result;
  for (Index p = 0; p < count; ++p) {
    const auto q = static_cast<std::size_t>(p);
    double variance = 0;
    for (Index i = 0; i < count; ++i) {
      if (axes(p, i) != 0) variance += axes(p, i) * axes(p, i) / values[i];
    }
    result.push_back(
        {std::sqrt(variance) * (space.high[q] - space.low[q]) / 2, std::sqrt(squares[p]), relative[p]});
  }
  return result;
}

std::size_t fewest_universes(std::size_t parameters) { return fisher_rows(parameters, kFewestStatistics); }

Forecasts forecast_power_spectrum(const dataset::StatisticsTable& training,
                                  const core::ParameterSpace& space) {
  const std::vector<UniverseRows> universes = dataset::universes_of(training);
  return {forecast_of(training, universes, true, space), forecast_of(training, universes, false, space)};
}

core::Json to_json(const std::optional<Forecast>& forecast, const core::ParameterSpace& space,
                   std::span<const double> label_deviations) {
  core::Json json = core::Json::object();
  if (!forecast) return json;
  core::Json& entry = json["power_spectrum"];
  for (std::size_t p = 0; p < space.size(); ++p) {
    const ParameterForecast& parameter = forecast->parameters[p];
    entry[space.names[p]] = {{"sigma", parameter.sigma},
                             {"scaled_error", parameter.sigma / label_deviations[p]},
                             {"fisher_sigma", parameter.fisher_sigma},
                             {"relative_error", parameter.relative_error}};
  }
  entry["assumptions"] = fmt::format(
      "A forecast of what P(k) constrains, not a bound: other statistics can do better. Measured P(k), "
      "window and shot noise included; derivatives of log P(k) at the centre of the ranges from a quadratic "
      "regression on {} training universes, {} bins; Gaussian likelihood of log P(k) whose covariance is the "
      "scatter around that regression, the same in every universe (Hartlap's factor; the derivatives' own "
      "noise subtracted); flat prior over the ranges; sigma, scaled_error and relative_error are those of posterior means.",
      forecast->universes, forecast->bins);
  entry["k_max"] = forecast->k_max;
  entry["k_unit"] = forecast->unit == core::LengthUnit::mpc ? "1/Mpc" : "h/Mpc";
  entry["bins"] = forecast->bins;
  entry["universes_used"] = forecast->universes;
  return json;
}

}  // namespace cosmo::infer
