#pragma once
// What training universes teach without a network: regressions on summary statistics, and the information in
// their power spectra. A model keeps its own.

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "dataset/regression/fisher.hpp"
#include "dataset/regression/regression.hpp"
#include "dataset/regression/statistics_regression.hpp"

namespace cosmo::dataset {

/// A model's file of what its training universes teach without a network.
inline constexpr const char* kBaselinesFile = "baselines.h5";

/// Regressions that rest on fewer training universes than these say little of a network.
inline constexpr std::size_t kFewUniverses = 32;

/// A kind of regression.
struct RegressionKind {
  const char* key;    ///< its group in the file, and its key in metrics.json
  const char* title;  ///< in tables and figures
  Eigen::MatrixXd (*features)(const StatisticsTable& table);  ///< what it sees of each row (rows, F)
  bool of_universes;  ///< whether it learns from and predicts universes, by their sub-volumes' mean features
};

inline constexpr std::array<RegressionKind, 4> kRegressionKinds = {{
    {"power_spectrum", "power spectrum", power_features, false},
    {"summary_statistics", "summary statistics", all_features, false},
    {"universe_power_spectrum", "power spectrum *", power_features, true},
    {"universe_summary_statistics", "summary statistics *", all_features, true},
}};

/// A regression of labels in [-1, 1], and its rms errors on training universes that it had not seen, by
/// cross-validation, in physical units (P).
struct LearnedRegression {
  Regression regression;
  std::vector<double> error_of_subvolumes;  ///< empty for one of universes
  std::vector<double> error_of_universes;   ///< for one of sub-volumes, of the mean over a universe's
};

/// What a set of training universes teaches.
struct LearnedBaselines {
  std::size_t universes;  ///< number of universes that it was learned from
  std::size_t samples;    ///< number of their samples
  std::vector<double> k;  ///< (bins) of their statistics [1 / unit]
  std::vector<LearnedRegression>
      regressions;  ///< one for each of kRegressionKinds; none of a single universe
  PowerInformations information;
};

/// Labels beyond [-1, 1] set to its edge.
Eigen::MatrixXd within_range(const Eigen::MatrixXd& labels);

/// Learns from the statistics of training samples.
LearnedBaselines learn_baselines(const StatisticsTable& training, const core::ParameterSpace& space);
/// The same of a training split's first kMostTrainingUniverses universes, for voxels on this scale. Collective.
LearnedBaselines learn_baselines(const core::Communicator& comm, const core::Log& log, SplitReader& training,
                                 const VoxelScale& scale);

/// Why these cannot be applied to samples with these statistics: "their statistics have 16 bins of k, and
/// those it learned from 32"; empty if they can.
std::string obstacle_to(const LearnedBaselines& learned, const StatisticsTable& samples);

/// Bytes of the file, at most.
std::uint64_t baselines_bytes(const SampleSpec& spec);
/// Writes the file (docs/reference/formats.md). Equal content gives equal bytes.
void write_baselines(const std::filesystem::path& path, const LearnedBaselines& learned);
/// Throws Error{format} naming the file if it does not hold baselines of `parameters` parameters.
LearnedBaselines read_baselines(const std::filesystem::path& path, std::size_t parameters);

}  // namespace cosmo::dataset
