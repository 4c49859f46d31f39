#include "train/prepare/baselines.hpp"

#include "core/timer.hpp"

namespace cosmo::train {

std::optional<dataset::LearnedBaselines> measure_baselines(const core::Communicator& comm,
                                                           const core::Log& log,
                                                           dataset::SplitReader& training,
                                                           const dataset::VoxelScale& scale) {
  if (training.spec().side() < dataset::SampleSummary::kSmallestSide) return std::nullopt;
  const core::Timer timer;
  dataset::LearnedBaselines learned = dataset::learn_baselines(comm, log, training, scale);
  log.info("regressions to compare the network with: learned from {} training universes in {}",
           learned.universes, core::format_duration(timer.seconds()));
  return learned;
}

}  // namespace cosmo::train
