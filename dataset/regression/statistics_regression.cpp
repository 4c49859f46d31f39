#include "dataset/regression/statistics_regression.hpp"

#include <cmath>

#include "core/error.hpp"
#include "dataset/measure/phases.hpp"

namespace cosmo::dataset {

namespace {

using Eigen::Index;
using Eigen::MatrixXd;

constexpr const char* kGroup = "regression";
constexpr double kGroupRatio = 1.15;  ///< end / beginning of a group of bins of k: 26 groups of 64 bins

MatrixXd beside(const MatrixXd& left, const MatrixXd& right) {
  MatrixXd both(left.rows(), left.cols() + right.cols());
  both << left, right;
  return both;
}

/// Mean, skewness, kurtosis and distribution. The root of a share has an even scatter.
MatrixXd one_point_features(const StatisticsTable& table) {
  const std::size_t channels = table.rows.front().channels.size();
  MatrixXd features(static_cast<Index>(table.rows.size()), static_cast<Index>(channels * (3 + kValueBins)));
  for (Index row = 0; row < features.rows(); ++row) {
    Index column = 0;
    for (const SummaryStatistics& channel : table.rows[static_cast<std::size_t>(row)].channels) {
      features(row, column++) = channel.mean;
      features(row, column++) = std::asinh(channel.skewness);
      features(row, column++) = std::asinh(channel.kurtosis);
      for (const double share : channel.distribution) features(row, column++) = std::sqrt(share);
    }
  }
  return features;
}

}  // namespace

std::vector<std::size_t> feature_groups(std::size_t bins) { return group_bins(bins, kGroupRatio); }

MatrixXd power_features(const StatisticsTable& table) {
  return log_power(table, feature_groups(table.k.size()), &SummaryStatistics::power);
}

MatrixXd all_features(const StatisticsTable& table) {
  const auto groups = feature_groups(table.k.size());
  const MatrixXd spectra =
      beside(power_features(table), log_power(table, groups, &SummaryStatistics::log_power));
  return beside(spectra, one_point_features(table));
}

std::vector<std::uint32_t> phases_of(const StatisticsTable& table) {
  return phases_of(table.rows, [](const SampleStatistics& row) -> const Sample& { return row.sample; });
}

std::uint64_t regression_samples(const DatasetManifest& data) {
  const SplitRecord& train = data.split(Split::train);
  if (train.simulations.size() <= kMostTrainingUniverses) return train.samples;
  return train.samples * kMostTrainingUniverses / train.simulations.size();
}

std::vector<double> held_out_labels(const StatisticsTable& table, const core::ParameterSpace& space) {
  const Regression regression(all_features(table), labels_of(table, space), phases_of(table));
  return row_major<double>(regression.held_out());
}

bool StatisticsRegression::fits(const StatisticsTable& table) const {
  if (table.rows.empty()) return true;
  const StatisticsTable one = {{table.rows.front()}, table.k, table.modes, table.unit};
  return regression_.fits(all_features(one).cols());
}

std::vector<float> StatisticsRegression::predict(const StatisticsTable& table) const {
  return table.rows.empty() ? std::vector<float>()
                            : row_major<float>(regression_.predict(all_features(table)));
}

void StatisticsRegression::write(core::hdf5::File& file) const { regression_.write(file, kGroup); }

StatisticsRegression StatisticsRegression::read(const core::hdf5::File& file, std::size_t parameters) {
  return StatisticsRegression(Regression::read(file, kGroup, static_cast<Index>(parameters)));
}

StatisticsRegression StatisticsRegression::read(const std::filesystem::path& model,
                                                const core::Manifest& manifest, const char* name,
                                                std::size_t parameters) {
  const core::FileRecord* record = manifest.find(name);
  core::ensure(record != nullptr, core::Fault::format,
               "{} has a network with a baseline, and no {}: train again.", model.string(), name);
  return core::read_checked(model, *record, [&](const std::filesystem::path& path) {
    return read(core::hdf5::File::open(path), parameters);
  });
}

}  // namespace cosmo::dataset
