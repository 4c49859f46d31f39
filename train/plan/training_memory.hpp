#pragma once
// The memory and disk space that a training will need, before any of it is allocated. [bytes]

#include <cstddef>
#include <cstdint>

#include "train/plan/training_data.hpp"
#include "train/plan/training_plan.hpp"

namespace cosmo::train {

/// The training universes that a posterior is fitted to, at most.
inline constexpr std::size_t kMostPosteriorUniverses = 4096;

/// Memory of a rank without what it will allocate: in use now, and of libraries to be loaded.
std::int64_t rank_memory();

/// Memory of the network, its gradients and `arenas` further arenas of the same size (moments, sums). Builds
/// the network's primitives.
std::int64_t network_memory(const nn::NetworkSpec& spec, nn::Shape input, int outputs, int batch, int arenas,
                            const nn::Arithmetic& arithmetic, const nn::Share* share = nullptr);

/// Memory of the sums of gradients over micro-batches and ranks, in addition to the network's.
std::int64_t reduction_memory(SumOrder order, WireFormat wire, const nn::NetworkCensus& census, int ranks,
                              int micro_batches);

/// Memory of a rank: in use now, and to be loaded and allocated for the training. `share`: what it computes of each
/// sample, or nullptr for all.
std::int64_t training_memory(const TrainingPlan& plan, const dataset::DatasetManifest& data,
                             const LoaderConfigs& loaders, const nn::Share* share);

/// Size of one checkpoint.
std::int64_t checkpoint_bytes(const TrainingPlan& plan, const nn::NetworkCensus& census);
/// Size of the largest number of checkpoints that are on the disk at the same time, and of baselines.h5.
std::int64_t training_disk(const TrainingPlan& plan, const dataset::DatasetManifest& data,
                           const nn::NetworkCensus& census);

}  // namespace cosmo::train
