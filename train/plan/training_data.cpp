#include "train/plan/training_data.hpp"

#include <algorithm>

#include "train/plan/feature_measurement.hpp"

namespace cosmo::train {

LoaderConfigs loaders_of(const SampleGroups& ranks, const TrainingPlan& plan, int readers) {
  const int group = ranks.peers.rank(), groups = ranks.peers.size();
  std::optional<dataset::Slab> slab;
  if (plan.cut) {
    const nn::Planes planes = plan.cut->input(ranks.group.rank());
    slab = {planes.begin, planes.end, plan.cut->periodic_input()};
  }
  const dataset::LoaderConfig in_order = {.rank = group,
                                          .ranks = groups,
                                          .global_batch = plan.micro_batch * groups,
                                          .micro_batch = plan.micro_batch,
                                          .readers = readers,
                                          .slab = slab,
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
           .slab = slab},
          in_order,
          measured};
}

dataset::ReadStatistics Splits::statistics() const {
  dataset::ReadStatistics sum = training_loader->statistics();
  if (measured_loader) sum += measured_loader->statistics();
  return sum += validation_loader->statistics();
}

void open_splits(const core::Communicator& comm, const TrainingPlan& plan,
                 const std::filesystem::path& directory, const dataset::DatasetManifest& data,
                 const LoaderConfigs& loaders, Splits& splits) {
  const int rank = comm.rank(), ranks = comm.size();
  const dataset::VoxelTransform transform = dataset::find_voxel_transform(plan.voxels, data.scale());
  comm.agree([&] {
    splits.training.emplace(directory, data, dataset::Split::train, rank, ranks);
    splits.validation.emplace(directory, data, dataset::Split::validation, rank, ranks);
    splits.training_loader.emplace(*splits.training, transform, loaders.training);
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
