#include "train/training_memory.hpp"

#include "core/memory.hpp"
#include "train/gradient_step.hpp"
#include "train/nn/network.hpp"

namespace cosmo::train {

namespace {

constexpr std::int64_t kLibraries = 8 << 20;  // of HDF5 and MPI, loaded where first used
constexpr int kCheckpoints = 3;               // the best, the last, and the next while it is written

}  // namespace

namespace {

/// Weights, biases and statistics.
std::int64_t arena_values(const nn::NetworkCensus& census) {
  return census.parameters() + census.statistics();
}

}  // namespace

std::int64_t network_memory(const nn::NetworkSpec& spec, nn::Shape input, int outputs, int batch, int arenas,
                            nn::Precision precision) {
  const std::size_t network =
      nn::Network::planned_bytes(spec, input, outputs, batch, nn::Mode::training, precision);
  return static_cast<std::int64_t>(network) + arenas * static_cast<std::int64_t>(sizeof(float)) *
                                                  arena_values(nn::take_census(spec, input, outputs));
}

std::int64_t training_memory(const TrainingPlan& plan, const dataset::SampleSpec& spec,
                             const LoaderConfigs& loaders) {
  const bool accumulates = plan.micro_batches_per_step(loaders.training.ranks) > 1;
  const int arenas = plan.optimizer->moments + (accumulates ? 1 : 0) + (plan.average > 0 ? 1 : 0);
  const nn::NetworkCensus census = nn::take_census(plan.network, plan.input, plan.outputs());
  const std::size_t measuring =
      census.normalised > 0 ? dataset::DataLoader::memory_bytes(spec, loaders.measured) : 0;
  const std::int64_t network = network_memory(plan.network, plan.input, plan.outputs(), plan.micro_batch,
                                              arenas, plan.precision.value);
  return network + kLibraries +
         static_cast<std::int64_t>(
             core::resident_memory() +  // with oneDNN, which planned the network
             measuring +
             GradientStep::memory_bytes(census, spec.voxels(), plan.micro_batch,
                                        plan.micro_batches_per_step(loaders.training.ranks)) +
             dataset::DataLoader::memory_bytes(spec, loaders.training) +
             dataset::DataLoader::memory_bytes(spec, loaders.validation));
}

std::int64_t checkpoint_bytes(const TrainingPlan& plan, const nn::NetworkCensus& census) {
  constexpr std::int64_t kOfArray = 1 << 10, kRest = 1 << 14;                     // HDF5's own, at most
  const auto arrays = static_cast<std::int64_t>(2 * plan.network.layers.size());  // weights and biases
  return (1 + plan.optimizer->moments + (plan.average > 0 ? 1 : 0)) *
             (static_cast<std::int64_t>(sizeof(float)) * arena_values(census) + arrays * kOfArray) +
         kRest;
}

std::int64_t training_disk(const TrainingPlan& plan, const nn::NetworkCensus& census) {
  return kCheckpoints * checkpoint_bytes(plan, census);
}

}  // namespace cosmo::train
