#include "train/prepare/network_baseline.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "dataset/regression/statistics_regression.hpp"
#include "nn/model/model_manifest.hpp"

namespace cosmo::train {

namespace {

constexpr const char* kLabels = "validation";

/// The regression on all statistics of samples.
const dataset::Regression& regression_in(const dataset::LearnedBaselines& learned) {
  core::ensure(
      learned.universes > 1, core::Fault::config,
      "A network with a baseline needs at least two training universes, but there is {}: leave --baseline "
      "out, or shard more universes.",
      learned.universes);
  const auto kind = std::ranges::find(dataset::kRegressionKinds, std::string_view("summary_statistics"),
                                      &dataset::RegressionKind::key);
  return learned.regressions.at(static_cast<std::size_t>(kind - dataset::kRegressionKinds.begin()))
      .regression;
}

}  // namespace

dataset::BaselineLabels prepare_baseline(const core::Communicator& comm, const core::Log& log,
                                         core::OutputDirectory& output,
                                         const std::optional<dataset::LearnedBaselines>& learned,
                                         dataset::SplitReader& validation, const dataset::VoxelScale& scale) {
  const core::ParameterSpace& space = validation.spec().parameters;
  std::vector<float> labels;
  if (const core::FileRecord* record = output.find(nn::kBaselineFile)) {
    comm.agree([&] {
      labels = core::read_checked(output.path(), *record, [&](const std::filesystem::path& path) {
        return core::hdf5::File::open(path).read<float>(kLabels, {validation.size(), space.size()});
      });
    });
    return {std::move(labels), static_cast<int>(space.size())};
  }
  std::optional<dataset::StatisticsRegression> regression;
  comm.agree([&] {
    core::ensure(
        learned.has_value(), core::Fault::config,
        "A network with a baseline needs samples of at least {0}³ voxels, for their P(k), but these have "
        "{1}³: leave --baseline out, or shard larger ones.",
        dataset::SampleSummary::kSmallestSide, validation.spec().side());
    regression.emplace(regression_in(*learned));
  });
  const dataset::StatisticsTable asked =
      dataset::summarise(comm, log, {validation, scale, dataset::samples_of_first_universes(validation)});
  comm.agree([&] {
    labels = regression->predict(asked);
    for (float& label : labels) label = std::clamp(label, -1.0f, 1.0f);
  });
  output.add(nn::kBaselineFile, [&](const auto& path) {
    core::hdf5::File file = core::hdf5::File::create(path);
    regression->write(file);
    file.write(kLabels, {validation.size(), space.size()}, std::span<const float>(labels));
    file.close();
  });
  return {std::move(labels), static_cast<int>(space.size())};
}

}  // namespace cosmo::train
