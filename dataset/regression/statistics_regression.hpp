#pragma once
// Labels of samples from their summary statistics: the best prediction without a network, and what a hybrid's
// network is mixed with.

#include <filesystem>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/hdf5/hdf5.hpp"
#include "core/output/manifest.hpp"
#include "dataset/regression/regression.hpp"
#include "dataset/regression/sample_statistics.hpp"

namespace cosmo::dataset {

/// Most universes that a regression learns from, the first of the training split: more do not improve a few
/// hundred coefficients.
inline constexpr std::size_t kMostTrainingUniverses = 2048;
/// Number of training samples of these universes.
std::uint64_t regression_samples(const DatasetManifest& data);

/// First bins of the groups of bins of k whose log P(k) are features, and `bins`.
std::vector<std::size_t> feature_groups(std::size_t bins);
/// log P(k) of each row (rows, F), in groups of bins.
Eigen::MatrixXd power_features(const StatisticsTable& table);
/// Those features, log P(k) of log(1 + n), the mean, skewness and kurtosis, and the distribution (rows, F).
Eigen::MatrixXd all_features(const StatisticsTable& table);

/// The initial phases of each row; cross-validation keeps rows of the same together.
std::vector<std::uint32_t> phases_of(const StatisticsTable& table);

/// Labels (rows, P) that such a regression predicts for the rows that it learns from, each with its own fold held out, also
/// beyond [-1, 1].
std::vector<double> held_out_labels(const StatisticsTable& table, const core::ParameterSpace& space);

/// A regression of labels in [-1, 1] on all_features, sample by sample.
class StatisticsRegression {
 public:
  /// One that has learned from all_features() of samples.
  explicit StatisticsRegression(Regression regression) : regression_(std::move(regression)) {}

  /// Whether its features are among those of these samples.
  bool fits(const StatisticsTable& table) const;
  /// Predicts labels (rows, P) of samples with the same bins of k, for which fits() must hold; also labels
  /// beyond [-1, 1].
  std::vector<float> predict(const StatisticsTable& table) const;
  /// Those of its regression on the columns of all_features; valid as long as this.
  RegressionParts parts() const { return regression_.parts(); }
  /// Writes it to the group "regression".
  void write(core::hdf5::File& file) const;
  /// Throws Error{format} if the file does not hold a regression of `parameters` parameters.
  static StatisticsRegression read(const core::hdf5::File& file, std::size_t parameters);
  /// The one in the file `name` of a model whose network has a baseline. Throws as core::read_checked() and the above do, and
  /// Error{format} if the model's manifest does not list the file.
  static StatisticsRegression read(const std::filesystem::path& model, const core::Manifest& manifest,
                                   const char* name, std::size_t parameters);

 private:
  Regression regression_;
};

}  // namespace cosmo::dataset
