#include "infer/baseline/comparison.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/error.hpp"
#include "core/file/checksum.hpp"
#include "dataset/regression/learned_baselines.hpp"
#include "infer/baseline/baseline.hpp"
#include "infer/predict/predictor.hpp"

namespace cosmo::infer {

using dataset::LearnedBaselines;

void declare_baselines(core::Options& options) {
  options.add("baselines", "all",
              "what the network is compared with: all (predict the centre, regressions on the power spectrum "
              "and on summary statistics, a forecast: those of the model's training universes or, for models "
              "of earlier versions, of up to 2048 universes of the training split) or centre",
              {"all", "centre"});
}

std::string chosen_baselines(const core::Options& options) { return options.choice("baselines"); }

const core::FileRecord* kept_baselines(const core::Options& options, const nn::ModelManifest& model) {
  return chosen_baselines(options) == "centre" ? nullptr : model.base.find(dataset::kBaselinesFile);
}

dataset::StatisticsTable summarise_all(const core::Invocation& run, const PredictedSplit& split,
                                       const dataset::VoxelScale& scale) {
  return dataset::summarise(run.comm, run.log,
                            {split.reader, scale, dataset::samples_of_first_universes(split.reader)});
}

namespace {

/// Regressions and the statistics of the split that they apply to.
struct Source {
  LearnedBaselines learned;
  dataset::StatisticsTable statistics;
  core::ParameterSpace space;
  std::string obstacle = {};  ///< why they are not the model's
};

/// What the training split of the data teaches. Collective.
LearnedBaselines learn_from_data(const core::Invocation& run, const PredictedSplit& split) {
  if (split.manifest.split(dataset::Split::train).simulations.empty()) return {};
  std::optional<dataset::SplitReader> train;
  run.comm.agree([&] {
    train.emplace(split.data, split.manifest, dataset::Split::train, run.comm.rank(), run.comm.size());
  });
  return dataset::learn_baselines(run.comm, run.log, *train, split.manifest.scale());
}

/// The model's regressions, or those of the data. Collective.
Source find_source(const core::Invocation& run, const PredictedSplit& split,
                   std::optional<dataset::StatisticsTable> statistics) {
  const dataset::VoxelScale of_training = scale_of(split.model), of_data = split.manifest.scale();
  std::string obstacle = "the model has no baselines.h5, which cosmo-train writes since this version";
  if (const core::FileRecord* record = kept_baselines(run.options, split.model)) {
    LearnedBaselines learned;
    run.comm.agree([&] {
      learned = core::read_checked(split.directory, *record, [&](const std::filesystem::path& path) {
        return dataset::read_baselines(path, split.model.parameters.size());
      });
    });
    if (!statistics) statistics = summarise_all(run, split, of_training);
    obstacle = dataset::obstacle_to(learned, *statistics);
    if (obstacle.empty()) return {std::move(learned), std::move(*statistics), split.model.parameters};
    obstacle = "those of the model do not apply: " + obstacle;
  }
  LearnedBaselines learned = learn_from_data(run, split);
  if (!learned.regressions.empty() && (!statistics || of_training != of_data))
    statistics = summarise_all(run, split, of_data);
  return {std::move(learned), statistics ? std::move(*statistics) : dataset::StatisticsTable{},
          split.manifest.spec.parameters, obstacle};
}

/// Whose universes the regressions and the forecast rest on, in words.
std::string note_on(const Source& source, const PredictedSplit& split) {
  const std::string owner = !source.obstacle.empty() ? "these data"
                            : split.models > 1       ? "the first model"
                                                     : "the model";
  std::string note = fmt::format("regressions and forecast rest on {} training universe{} of {}",
                                 source.learned.universes, source.learned.universes == 1 ? "" : "s", owner);
  if (!source.obstacle.empty()) note += ", as " + source.obstacle;
  const auto cut = static_cast<std::size_t>(split.model.validation.subvolumes);
  if (source.obstacle.empty() && cut != split.manifest.subvolumes)
    note += fmt::format("; those with an asterisk have learned from means over {} sub-volumes, not over {}",
                        cut, split.manifest.subvolumes);
  return note;
}

}  // namespace

Comparison add_baselines(const core::Invocation& run, const PredictedSplit& split,
                         std::optional<dataset::StatisticsTable> statistics, Methods& methods) {
  methods.push_back(method_of("centre", "predict the centre", predict_centre(methods.front().subvolumes)));
  if (chosen_baselines(run.options) == "centre") return {};
  if (split.manifest.spec.side() < dataset::SampleSummary::kSmallestSide) {
    run.log.warn("Regressions are left out: they need samples of at least {}³ voxels.",
                 dataset::SampleSummary::kSmallestSide);
    return {};
  }
  const Source source = find_source(run, split, std::move(statistics));
  const LearnedBaselines& learned = source.learned;
  const std::string owner = source.obstacle.empty() ? split.directory.string() : split.data.string();
  if (learned.regressions.empty()) {
    run.log.warn("{} has {} universe{} to train on: regressions are left out, they need 2.", owner,
                 learned.universes, learned.universes == 1 ? "" : "s");
    return {};
  }
  if (learned.universes < dataset::kFewUniverses) {
    run.log.warn(
        "Regressions on {} training universes of {} are worse than those on {} and more, so the network looks "
        "better beside them than it is.",
        learned.universes, owner, dataset::kFewUniverses);
  }
  Comparison comparison;
  run.comm.agree([&] {
    std::ranges::move(
        regression_baselines({source.space, learned, source.statistics, methods.front().subvolumes}),
        std::back_inserter(methods));
    comparison.forecasts = forecast_power_spectrum(learned.information, source.space);
  });
  if (!comparison.forecasts.universes) {
    run.log.warn(
        "{} universes to train on are too few for a forecast of P(k), which needs {} different ones.",
        learned.universes, dataset::fewest_universes(source.space.size()));
  }
  comparison.origin = {{"source", source.obstacle.empty() ? "model" : "data"},
                       {"universes", learned.universes},
                       {"samples", learned.samples},
                       {"note", note_on(source, split)}};
  return comparison;
}

std::string note_text(const Comparison& comparison) {
  return comparison.origin.is_null() ? "" : comparison.origin.at("note").get<std::string>() + "\n";
}

std::size_t baseline_memory_bytes(const core::Options& options, const nn::ModelManifest& model,
                                  const dataset::DatasetManifest& manifest, std::uint64_t samples) {
  if (chosen_baselines(options) == "centre") return 0;
  const std::uint64_t training =
      kept_baselines(options, model) != nullptr ? 0 : dataset::regression_samples(manifest);
  return dataset::summary_bytes(manifest.spec, samples + training);
}

std::string baseline_plan(const core::Options& options, const nn::ModelManifest& model,
                          const dataset::DatasetManifest& manifest) {
  if (chosen_baselines(options) == "centre") return "";
  if (kept_baselines(options, model) != nullptr) return "; baselines are those of the model";
  const std::uint64_t samples = dataset::regression_samples(manifest);
  return fmt::format("; baselines read {} samples to learn from, {}", samples,
                     core::format_bytes(static_cast<double>(samples * manifest.spec.input.bytes())));
}

}  // namespace cosmo::infer
