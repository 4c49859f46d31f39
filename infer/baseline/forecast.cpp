#include "infer/baseline/forecast.hpp"

#include <Eigen/Eigenvalues>
#include <cmath>

#include "core/random.hpp"

namespace cosmo::infer {

namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr Index kTruths = 4096, kDraws = 1024;

}  // namespace

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

Forecasts forecast_power_spectrum(const dataset::PowerInformations& measured,
                                  const core::ParameterSpace& space) {
  const auto forecast_of =
      [&](const std::optional<dataset::PowerInformation>& found) -> std::optional<Forecast> {
    if (!found) return std::nullopt;
    return Forecast{expected_errors(found->fisher, space), found->k_max, found->unit, found->universes,
                    found->bins};
  };
  return {forecast_of(measured.universes), forecast_of(measured.subvolumes)};
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
