#include "dataset/regression/fisher.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <Eigen/QR>
#include <vector>

#include "core/error.hpp"

namespace cosmo::dataset {

namespace {

using Eigen::Index;
using Eigen::MatrixXd;

constexpr std::size_t kRowsPerStatistic = 8;  ///< residual degrees of freedom of the covariance
constexpr std::size_t kFewestStatistics = 3;
constexpr double kFinestGroups = 1.15;  ///< least ratio of bins of k that form a group

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
    std::vector<std::size_t> groups = group_bins(bins, ratio);
    const std::size_t count = groups.size() - 1;
    if (channels * count <= most)
      return channels * count >= kFewestStatistics ? groups : std::vector<std::size_t>{};
  }
  return {};
}

std::optional<PowerInformation> information_of(const StatisticsTable& table,
                                               const std::vector<UniverseRows>& universes, bool whole,
                                               const core::ParameterSpace& space) {
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
  const MatrixXd all = log_power(table, groups, &SummaryStatistics::power);
  const MatrixXd labels = labels_of(table, space);
  const auto chosen = [&](const MatrixXd& values) -> MatrixXd {
    return whole ? mean_rows(values, unrolled) : MatrixXd(values(used, Eigen::all));
  };
  const Eigen::ColPivHouseholderQR<MatrixXd> terms(quadratic_terms(chosen(labels)));
  if (terms.rank() < terms.cols()) return std::nullopt;
  const MatrixXd fisher = fisher_matrix(chosen(all), chosen(labels));
  if (!fisher.allFinite()) return std::nullopt;
  return PowerInformation{fisher, table.k.back(), table.unit, unrolled.size(),
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

std::size_t fewest_universes(std::size_t parameters) { return fisher_rows(parameters, kFewestStatistics); }

PowerInformations measure_information(const StatisticsTable& training, const core::ParameterSpace& space) {
  const std::vector<UniverseRows> universes = universes_of(training);
  return {information_of(training, universes, true, space),
          information_of(training, universes, false, space)};
}

}  // namespace cosmo::dataset
