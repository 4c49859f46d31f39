#include "train/plan/training_data.hpp"

#include <algorithm>

#include "train/prepare/feature_measurement.hpp"

namespace cosmo::train {

LoaderConfigs loaders_of(const dataset::SampleGroups& ranks, const TrainingPlan& plan,
                         const dataset::DatasetManifest& data, int readers) {
  const int group = ranks.peers.rank(), groups = ranks.peers.size();
  std::optional<dataset::SlabShare> share;
  if (plan.cut.plan)
    share = dataset::share_of(plan.cut.plan->inputs(), plan.cut.plan->periodic_input(), ranks.group.rank(),
                              data, dataset::find_voxel_transform(plan.voxels, data.scale()));
  const dataset::LoaderConfig in_order = {.rank = group,
                                          .ranks = groups,
                                          .global_batch = plan.micro_batch * groups,
                                          .micro_batch = plan.micro_batch,
                                          .readers = readers,
                                          .share = share,
                                          .releases = true,
                                          .spare = 0};
  dataset::LoaderConfig measured = in_order;
  measured.most = kMeasuredSamples;
  return {{.rank = group,
           .ranks = groups,
           .global_batch = plan.global_batch,
           .micro_batch = plan.micro_batch,
           .seed = plan.seed,
           .shuffle = true,
           .augment = plan.augment,
           .roll = plan.roll,
           .readers = readers,
           .share = share},
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
  for (int r = 0; by_planes && plan.augment && r < std::max(1, loaders.training.readers); ++r)
    splits.groups.push_back(ranks.group.split(0));
  const dataset::VoxelTransform transform = dataset::find_voxel_transform(plan.voxels, data.scale());
  ranks.all.agree([&] {
    splits.training.emplace(directory, data, dataset::Split::train, rank, number, by_planes);
    splits.validation.emplace(directory, data, dataset::Split::validation, rank, number, by_planes);
    splits.training_loader.emplace(*splits.training, transform, loaders.training, splits.groups);
    splits.validation_loader.emplace(*splits.validation, transform, loaders.validation);
    if (nn::find_normalisation(plan.network) >= 0)
      splits.measured_loader.emplace(*splits.training, transform, loaders.measured);
  });
}

std::int64_t samples_to_train(const TrainingPlan& plan, const TrainingProgress& progress,
                              const Splits& splits) {
  const std::int64_t samples = splits.training->size();
  const std::int64_t steps =
      progress.step - progress.epoch * std::int64_t{splits.training_loader->steps_per_epoch()};
  return samples * (plan.epochs - progress.epoch) - std::min(samples, steps * plan.global_batch);
}

}  // namespace cosmo::train
