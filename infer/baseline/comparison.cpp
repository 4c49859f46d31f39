#include "infer/baseline/comparison.hpp"

#include <algorithm>
#include <optional>

#include "core/error.hpp"
#include "dataset/regression/statistics_regression.hpp"
#include "infer/baseline/baseline.hpp"

namespace cosmo::infer {

void declare_baselines(core::Options& options) {
  options.add("baselines", "all",
              "what the network is compared with: all (predict the centre, regressions on the power spectrum "
              "and on summary statistics, a forecast: these read up to 2048 universes of the training split) "
              "or centre",
              {"all", "centre"});
}

std::string chosen_baselines(const core::Options& options) { return options.choice("baselines"); }

dataset::StatisticsTable summarise_all(const core::Invocation& run, const PredictedSplit& split,
                                       const dataset::VoxelScale& scale) {
  return dataset::summarise(run.comm, run.log,
                            {split.reader, scale, dataset::samples_of_first_universes(split.reader)});
}

Forecasts add_baselines(const core::Invocation& run, const PredictedSplit& split,
                        const std::optional<dataset::StatisticsTable>& statistics, Methods& methods) {
  methods.push_back(method_of("centre", "predict the centre", predict_centre(methods.front().subvolumes)));
  if (chosen_baselines(run.options) == "centre") return {};
  const std::size_t universes = split.manifest.split(dataset::Split::train).simulations.size();
  if (universes == 0) return {};  // test data alone
  if (universes < 2) {
    run.log.warn("{} has {} universe to train on: regressions are left out, they need 2.",
                 split.data.string(), universes);
    return {};
  }
  std::optional<dataset::SplitReader> train;
  run.comm.agree([&] {
    train.emplace(split.data, split.manifest, dataset::Split::train, run.comm.rank(), run.comm.size());
  });
  const dataset::VoxelScale scale = split.manifest.scale();
  const core::ParameterSpace& space = split.manifest.spec.parameters;
  const StatisticsTable training = dataset::summarise(
      run.comm, run.log,
      {*train, scale, dataset::samples_of_first_universes(*train, dataset::kMostTrainingUniverses)});
  run.comm.agree([&] {
    std::ranges::move(regression_baselines({space, training, *statistics, methods.front().subvolumes}),
                      std::back_inserter(methods));
  });
  Forecasts forecasts;
  run.comm.agree([&] { forecasts = forecast_power_spectrum(training, space); });
  if (!forecasts.universes) {
    run.log.warn(
        "{} universes to train on are too few for a forecast of P(k), which needs {} different ones.",
        universes, fewest_universes(space.size()));
  }
  return forecasts;
}

std::size_t baseline_memory_bytes(const core::Options& options, const dataset::DatasetManifest& manifest,
                                  std::uint64_t samples) {
  if (chosen_baselines(options) == "centre") return 0;
  return dataset::summary_bytes(manifest.spec, samples + dataset::regression_samples(manifest));
}

std::string baseline_plan(const core::Options& options, const dataset::DatasetManifest& manifest) {
  if (chosen_baselines(options) == "centre") return "";
  const std::uint64_t samples = dataset::regression_samples(manifest);
  return fmt::format("; baselines read {} samples to learn from, {}", samples,
                     core::format_bytes(static_cast<double>(samples * manifest.spec.bytes())));
}

}  // namespace cosmo::infer
