#include "train/plan/training_data.hpp"

#include <algorithm>

#include "train/prepare/feature_measurement.hpp"

namespace cosmo::train {

LoaderConfigs loaders_of(const dataset::SampleGroups& ranks, const TrainingPlan& plan,
                         const dataset::DatasetManifest& data, int readers) {
  const int group = ranks.peers.rank(), groups = ranks.peers.size();
  std::optional<dataset::SlabShare> share;
  if (const auto& cut = plan.batching.cut.plan) {
    share = dataset::share_of(cut->inputs(), cut->periodic_input(), ranks.group.rank(), data,
                              plan.objective.transform(data));
    if (!plan.objective.target.empty()) {
      share->whole = true;
      share->target = cut->output(ranks.group.rank());
    }
  }
  const dataset::LoaderConfig in_order = {.rank = group,
                                          .ranks = groups,
                                          .global_batch = plan.batching.micro_batch * groups,
                                          .micro_batch = plan.batching.micro_batch,
                                          .readers = readers,
                                          .share = share,
                                          .releases = true,
                                          .spare = 0,
                                          .target = plan.objective.target_map(data)};
  dataset::LoaderConfig measured = in_order;
  measured.most = kMeasuredSamples;
  return {{.rank = group,
           .ranks = groups,
           .global_batch = plan.batching.global_batch,
           .micro_batch = plan.batching.micro_batch,
           .seed = plan.network.seed,
           .shuffle = true,
           .augment = plan.objective.augment,
           .roll = plan.objective.roll,
           .readers = readers,
           .share = share,
           .target = plan.objective.target_map(data)},
          in_order,
          measured};
}

dataset::ReadStatistics Splits::statistics() const {
  dataset::ReadStatistics sum = training_loader->statistics();
  if (measured_loader) sum += measured_loader->statistics();
  return sum += validation_loader->statistics();
}

void open_splits(const dataset::SampleGroups& ranks, const TrainingPlan& plan,
                 const std::filesystem::path& directory, const dataset::DatasetManifest& data,
                 const LoaderConfigs& loaders, Splits& splits) {
  const int rank = ranks.all.rank(), number = ranks.all.size();
  const bool by_planes = loaders.training.share && !loaders.training.share->whole;
  for (int r = 0; by_planes && plan.objective.augment && r < std::max(1, loaders.training.readers); ++r)
    splits.groups.push_back(ranks.group.split(0));
  const dataset::VoxelTransform transform = plan.objective.transform(data);
  ranks.all.agree([&] {
    splits.training.emplace(directory, data, dataset::Split::train, rank, number, by_planes);
    splits.validation.emplace(directory, data, dataset::Split::validation, rank, number, by_planes);
    splits.training_loader.emplace(*splits.training, transform, loaders.training, splits.groups);
    splits.validation_loader.emplace(*splits.validation, transform, loaders.validation);
    if (nn::find_normalisation(plan.network.spec) >= 0)
      splits.measured_loader.emplace(*splits.training, transform, loaders.measured);
  });
}

dataset::VoxelScale scale_of(const dataset::DatasetManifest& data, const std::string& voxels) {
  return data.spec.input.kind == dataset::VoxelKind::counts ? data.scale()
                                                            : data.scale(dataset::curve_of(voxels));
}

std::int64_t samples_to_train(const TrainingPlan& plan, const TrainingProgress& progress,
                              const Splits& splits) {
  const std::int64_t samples = splits.training->size();
  const std::int64_t steps =
      progress.step - progress.epoch * std::int64_t{splits.training_loader->steps_per_epoch()};
  return samples * (plan.epochs - progress.epoch) - std::min(samples, steps * plan.batching.global_batch);
}

}  // namespace cosmo::train
