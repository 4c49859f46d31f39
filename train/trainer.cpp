#include "train/trainer.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "core/error.hpp"
#include "train/gradient_reducer.hpp"

namespace cosmo::train {

namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// The loss of a step, summed over ranks; the same bits everywhere.
double agree_on_loss(const core::Communicator& comm, double loss, std::int64_t step) {
  const double total = comm.sum(loss);
  if (!std::isfinite(total)) {
    throw core::Error(
        core::Fault::numeric,
        fmt::format("The loss of step {} is {}: lower --learning-rate; finished epochs are kept.", step,
                    total),
        true);
  }
  return total;
}

}  // namespace

void train(const core::Communicator& comm, const core::Log& log, const TrainerConfig& config,
           const TrainingData& data, TrainingState& state, const std::function<void()>& save) {
  auto& [network, optimizer, progress] = state;
  GradientReducer reducer(comm, network.gradients(), config.micro_batches_per_step);
  std::vector<float> d_output(static_cast<std::size_t>(network.batch() * network.outputs()));
  core::Progress display(log, "samples", data.samples * (config.epochs - progress.epoch));
  const auto start = std::chrono::steady_clock::now();
  double longest_epoch = 0;

  while (progress.epoch < config.epochs) {
    const auto epoch_start = std::chrono::steady_clock::now();
    double epoch_loss = 0;
    double step_loss = 0;
    data.loader.start_epoch(static_cast<std::uint32_t>(progress.epoch));
    while (const auto batch = data.loader.next()) {
      std::copy(batch->voxels.begin(), batch->voxels.end(), network.input().begin());
      const nn::LossRows rows{network.outputs(), batch->valid, static_cast<double>(batch->samples_in_step)};
      const nn::DropoutDraw dropout{config.seed, progress.step, batch->samples};
      step_loss += config.loss(d_output, network.forward(dropout), batch->targets, rows);
      network.backward(d_output, [&](std::span<float> part) { reducer.ready(part); });
      reducer.finish();
      if (!batch->last_of_step) continue;
      epoch_loss += agree_on_loss(comm, step_loss, progress.step);
      step_loss = 0;
      optimizer.step(progress.step++);
      display.advance(batch->samples_in_step,
                      progress.history.empty() ? "" : describe(progress.history.back()));
    }
    ++progress.epoch;
    EpochMetrics metrics = validate(comm, config.loss, data.validation, network);
    metrics.epoch = progress.epoch;
    metrics.step = progress.step;
    metrics.learning_rate = optimizer.learning_rate(progress.step - 1);
    metrics.train_loss = epoch_loss / static_cast<double>(data.samples);
    progress.history.push_back(std::move(metrics));
    save();

    longest_epoch = std::max(longest_epoch, seconds_since(epoch_start));
    if (comm.max(seconds_since(start) + longest_epoch) > config.time_limit) break;
  }
}

}  // namespace cosmo::train
