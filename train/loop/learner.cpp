#include "train/loop/learner.hpp"

#include <filesystem>

#include "core/error.hpp"
#include "nn/initialise.hpp"

namespace cosmo::train {

using core::ensure;
using core::Fault;

Learner::Learner(const TrainingPlan& plan, const nn::Arithmetic& arithmetic, std::int64_t steps_per_epoch,
                 const nn::Share* share)
    : network(plan.network.spec, plan.input, plan.objective.output.shape().channels,
              plan.batching.micro_batch, nn::Mode::training, arithmetic, share),
      optimizer(plan.method.make(network.parameters(), plan.schedule.per_step(steps_per_epoch))),
      state{network, *optimizer, {}, {}} {
  if (plan.method.average > 0) state.average = &average.emplace(network, plan.method.average);
}

void Learner::begin(const TrainingPlan& plan, const Pretrained* pretrained) {
  nn::initialise(network, plan.network.seed, plan.objective.output.start());
  if (pretrained != nullptr) pretrained->give_weights(network);
  if (state.average != nullptr) state.average->start();
}

void Learner::resume(const TrainingPlan& plan, const core::FileRecord& checkpoint,
                     std::int64_t steps_per_epoch) {
  state.progress = core::read_checked(plan.directory, checkpoint, [&](const std::filesystem::path& path) {
    return read_checkpoint(
        path, plan.network.spec, {network, *optimizer, state.average},
        {columns_of(plan.objective.output, !plan.network.spec.baseline.empty()), plan.objective.parameters});
  });
  ensure(state.progress.epoch <= plan.epochs, Fault::config,
         "{} has {} epochs already: give at least that many --epochs.", plan.directory, state.progress.epoch);
  const std::int64_t into_epoch = state.progress.step - state.progress.epoch * steps_per_epoch;
  ensure(into_epoch >= 0 && into_epoch <= steps_per_epoch, Fault::format,
         "{} is from step {}, which is not after {} epochs of {} steps: restore the file.", checkpoint.path,
         state.progress.step, state.progress.epoch, steps_per_epoch);
}

}  // namespace cosmo::train
