#include "dataset/regression/learned_baselines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "core/error.hpp"

namespace cosmo::dataset {

namespace {

using Eigen::Index;
using Eigen::MatrixXd;

/// Root mean square of each column of differences in label units, in physical units (P).
std::vector<double> rms(const MatrixXd& differences, const core::ParameterSpace& space) {
  std::vector<double> result;
  for (std::size_t p = 0; p < space.size(); ++p) {
    const double squares = differences.col(static_cast<Index>(p)).squaredNorm();
    result.push_back(std::sqrt(squares / static_cast<double>(differences.rows())) *
                     (space.high[p] - space.low[p]) / 2);
  }
  return result;
}

/// The phases of each universe or roll, whose rows have these.
std::vector<std::uint32_t> phases_of(const std::vector<UniverseRows>& universes,
                                     const std::vector<std::uint32_t>& of_rows) {
  std::vector<std::uint32_t> phases;
  for (const UniverseRows& universe : universes)
    phases.push_back(of_rows[static_cast<std::size_t>(universe.rows.front())]);
  return phases;
}

/// Where the kind stands that has the same features of sub-volumes.
std::size_t twin_of(const RegressionKind& kind) {
  const auto twin = std::ranges::find_if(
      kRegressionKinds, [&](const RegressionKind& other) { return other.features == kind.features; });
  return static_cast<std::size_t>(twin - kRegressionKinds.begin());
}

std::vector<LearnedRegression> learn_regressions(const StatisticsTable& training,
                                                 const core::ParameterSpace& space) {
  const std::vector<UniverseRows> universes = universes_of(training);
  const std::vector<std::uint32_t> phases = phases_of(training), of_universe = phases_of(universes, phases);
  const MatrixXd labels = labels_of(training, space), of_universes = mean_rows(labels, universes);
  std::vector<LearnedRegression> learned;
  for (const RegressionKind& kind : kRegressionKinds) {
    if (kind.of_universes && universes.size() == training.rows.size()) {  // each is its only sub-volume
      const LearnedRegression& same = learned[twin_of(kind)];
      learned.push_back({same.regression, {}, same.error_of_universes});
      continue;
    }
    const MatrixXd features = kind.features(training);
    Regression regression = kind.of_universes
                                ? Regression(mean_rows(features, universes), of_universes, of_universe)
                                : Regression(features, labels, phases);
    const MatrixXd errors = within_range(regression.held_out()) - (kind.of_universes ? of_universes : labels);
    if (kind.of_universes) {
      learned.push_back({std::move(regression), {}, rms(errors, space)});
    } else {
      learned.push_back(
          {std::move(regression), rms(errors, space), rms(mean_rows(errors, universes), space)});
    }
  }
  return learned;
}

}  // namespace

MatrixXd within_range(const MatrixXd& labels) { return labels.cwiseMax(-1.0).cwiseMin(1.0); }

LearnedBaselines learn_baselines(const StatisticsTable& training, const core::ParameterSpace& space) {
  const std::vector<std::uint32_t> phases = phases_of(training);
  const std::size_t universes = std::set(phases.begin(), phases.end()).size();
  LearnedBaselines learned{universes, training.rows.size(), training.k, {}, {}};
  if (universes < 2) return learned;
  learned.regressions = learn_regressions(training, space);
  learned.information = measure_information(training, space);
  return learned;
}

LearnedBaselines learn_baselines(const core::Communicator& comm, const core::Log& log, SplitReader& training,
                                 const VoxelScale& scale) {
  const StatisticsTable table =
      summarise(comm, log, {training, scale, samples_of_first_universes(training, kMostTrainingUniverses)});
  LearnedBaselines learned;
  comm.agree([&] { learned = learn_baselines(table, training.spec().parameters); });
  return learned;
}

std::string obstacle_to(const LearnedBaselines& learned, const StatisticsTable& samples) {
  constexpr double kRounding = 1e-5;
  if (samples.k.size() != learned.k.size())
    return fmt::format("their statistics have {} bins of k, and those it learned from {}", samples.k.size(),
                       learned.k.size());
  for (std::size_t bin = 0; bin < samples.k.size(); ++bin) {
    if (!(std::abs(samples.k[bin] / learned.k[bin] - 1) < kRounding))
      return fmt::format("their statistics have a bin of k at {:.6g}, and those it learned from at {:.6g}",
                         samples.k[bin], learned.k[bin]);
  }
  if (samples.rows.empty()) return "";
  const StatisticsTable one = {{samples.rows.front()}, samples.k, samples.modes, samples.unit};
  for (std::size_t i = 0; i < learned.regressions.size(); ++i) {
    if (!learned.regressions[i].regression.fits(kRegressionKinds[i].features(one).cols()))
      return fmt::format("the regression {} has learned from more statistics", kRegressionKinds[i].key);
  }
  return "";
}

}  // namespace cosmo::dataset
