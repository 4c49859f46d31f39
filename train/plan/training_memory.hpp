#pragma once
// What a training will need, before any of it is allocated. [bytes]

#include <cstdint>

#include "train/plan/training_data.hpp"
#include "train/plan/training_plan.hpp"

namespace cosmo::train {

/// Network, gradients and so many arenas like its weights beside them: moments, sums. Builds the network's
/// primitives.
std::int64_t network_memory(const nn::NetworkSpec& spec, nn::Shape input, int outputs, int batch, int arenas,
                            nn::Precision precision);

/// What a rank has now and what it will load and allocate for the training.
std::int64_t training_memory(const TrainingPlan& plan, const dataset::DatasetManifest& data,
                             const LoaderConfigs& loaders);

/// Of one checkpoint, and of as many as are on the disk at most.
std::int64_t checkpoint_bytes(const TrainingPlan& plan, const nn::NetworkCensus& census);
std::int64_t training_disk(const TrainingPlan& plan, const nn::NetworkCensus& census);

}  // namespace cosmo::train
