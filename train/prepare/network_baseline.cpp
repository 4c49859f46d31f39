#include "train/prepare/network_baseline.hpp"

#include <set>

#include "core/error.hpp"
#include "dataset/regression/statistics_regression.hpp"
#include "nn/model/model_manifest.hpp"

namespace cosmo::train {

namespace {

constexpr const char* kLabels = "validation";

void ensure_two_universes(const dataset::SplitReader& training) {
  std::set<std::uint32_t> universes;
  for (std::uint32_t i = 0; i < training.size(); ++i) universes.insert(training.sample(i).simulation);
  core::ensure(
      universes.size() > 1, core::Fault::config,
      "A network with a baseline needs at least two training universes, but there is {}: leave --baseline "
      "out, or shard more universes.",
      universes.size());
}

}  // namespace

dataset::BaselineLabels prepare_baseline(const core::Communicator& comm, const core::Log& log,
                                         core::OutputDirectory& output, dataset::SplitReader& training,
                                         dataset::SplitReader& validation, const dataset::VoxelScale& scale) {
  const core::ParameterSpace& space = training.spec().parameters;
  std::vector<float> labels;
  if (const core::FileRecord* record = output.find(nn::kBaselineFile)) {
    comm.agree([&] {
      core::check_content(output.path(), *record);
      labels = core::hdf5::File::open(output.path() / nn::kBaselineFile)
                   .read<float>(kLabels, {validation.size(), space.size()});
    });
    return {std::move(labels), static_cast<int>(space.size())};
  }
  comm.agree([&] { ensure_two_universes(training); });
  const dataset::StatisticsTable learned = dataset::summarise(
      comm, log,
      {training, scale, dataset::samples_of_first_universes(training, dataset::kMostTrainingUniverses)});
  const dataset::StatisticsTable asked =
      dataset::summarise(comm, log, {validation, scale, dataset::samples_of_first_universes(validation)});
  std::optional<dataset::StatisticsRegression> regression;
  comm.agree([&] {
    regression.emplace(learned, space);
    labels = regression->predict(asked);
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
