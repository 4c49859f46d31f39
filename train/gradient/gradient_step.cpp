#include "train/gradient/gradient_step.hpp"

#include <algorithm>

#include "core/timer.hpp"

namespace cosmo::train {

GradientStep::GradientStep(const core::Communicator& comm, nn::Network& network, GradientReducer& reducer,
                           const Config& config)
    : comm_(comm),
      network_(network),
      reducer_(reducer),
      config_(config),
      d_output_(static_cast<std::size_t>(network.batch() * network.outputs())),
      kept_(network.normalises() ? static_cast<std::size_t>(config.micro_batches_per_step) : 0) {}

std::size_t GradientStep::memory_bytes(const nn::NetworkCensus& census, std::size_t voxels, int micro_batch,
                                       int micro_batches_per_step) {
  if (census.normalised == 0) return 0;
  const auto kept = static_cast<std::size_t>(micro_batches_per_step);
  const std::size_t vectors = 3 * static_cast<std::size_t>(census.normalised);
  return sizeof(float) * static_cast<std::size_t>(micro_batch) * ((kept - 1) * voxels + kept * vectors);
}

void GradientStep::take(const dataset::Batch& batch, std::int64_t n, StepLoss& loss) {
  if (!network_.normalises()) {
    if (!of_head_.are_zero(batch.valid)) network_.set_input(batch.voxels);
    run_head(batch, n, loss);  // all layers
    return;
  }
  if (!of_trunk_.are_zero(batch.valid)) {
    network_.set_input(batch.voxels);
    network_.forward_trunk(nn::DropoutDraw{config_.seed, n, batch.samples});
    loss.examine(batch, network_.normalisation().values);
  }
  keep(batch);
  if (!batch.last_of_step) return;
  run_heads(batch, n, loss);
  run_trunks_backward(n);
  count_ = 0;
}

void GradientStep::keep(const dataset::Batch& batch) {
  Kept& kept = kept_[count_++];
  if (!batch.last_of_step) kept.voxels.assign(batch.voxels.begin(), batch.voxels.end());
  kept.targets.assign(batch.targets.begin(), batch.targets.end());
  kept.samples.assign(batch.samples.begin(), batch.samples.end());
  kept.valid = batch.valid;
  const std::span<const float> values = network_.normalisation().values;
  kept.values.assign(values.begin(), values.end());
}

/// Sets mean and deviation of the step's samples, runs each head forward and backward, and sets the
/// gradients' means.
void GradientStep::run_heads(const dataset::Batch& batch, std::int64_t n, StepLoss& loss) {
  const nn::Normalisation at = network_.normalisation();
  nn::MomentSums of_values(at.mean.size()), of_gradients(at.mean.size());
  const std::vector<float> values = rows_of_all(&Kept::values);
  of_values.add(values, values, batch.samples_in_step);
  set_statistics(at, of_values, batch.samples_in_step);
  for (Kept& kept : kept_) {
    std::copy(kept.values.begin(), kept.values.end(), at.values.begin());
    run_head({{}, kept.targets, kept.valid, kept.samples, batch.samples_in_step, batch.last_of_step}, n,
             loss);
    kept.normalised.assign(at.normalised.begin(), at.normalised.end());
    kept.d_normalised.assign(at.d_normalised.begin(), at.d_normalised.end());
  }
  of_gradients.add(rows_of_all(&Kept::d_normalised), rows_of_all(&Kept::normalised), batch.samples_in_step);
  set_mean_gradients(at, of_gradients, batch.samples_in_step);
}

/// Runs the trunks backward, beginning with the last one, whose tensors are still in memory.
void GradientStep::run_trunks_backward(std::int64_t n) {
  const nn::Normalisation at = network_.normalisation();
  for (std::size_t m = kept_.size(); m-- > 0;) {
    const Kept& kept = kept_[m];
    if (of_trunk_.are_zero(kept.valid)) {
      deliver_zeros(of_trunk_);
      continue;
    }
    if (m + 1 < kept_.size()) {
      network_.set_input(kept.voxels);
      network_.forward_trunk(nn::DropoutDraw{config_.seed, n, kept.samples});
    }
    std::copy(kept.normalised.begin(), kept.normalised.end(), at.normalised.begin());
    std::copy(kept.d_normalised.begin(), kept.d_normalised.end(), at.d_normalised.begin());
    *at.rows = kept.valid;
    deliver(of_trunk_, [&](const auto& ready) { network_.backward_trunk(ready); });
  }
}

/// Runs forward, loss and backward of the layers after the normalisation for a micro-batch.
void GradientStep::run_head(const dataset::Batch& batch, std::int64_t n, StepLoss& loss) {
  if (of_head_.are_zero(batch.valid)) {
    loss.add(batch, {}, 0);
    return deliver_zeros(of_head_);
  }
  const std::span<const float> predictions =
      network_.forward_head(nn::DropoutDraw{config_.seed, n, batch.samples});
  const nn::LossRows rows{batch.valid, static_cast<double>(batch.samples_in_step),
                          network_.cuts_output() ? network_.outputs() : 0};
  loss.add(batch, predictions, config_.output.loss({d_output_, predictions, batch.targets}, rows));
  deliver(of_head_, [&](const auto& ready) { network_.backward_head(d_output_, ready); });
}

template <class Backward>
void GradientStep::deliver(Parts& parts, const Backward& backward) {
  backward([this, &parts](std::span<float> part) {
    if (!parts.known) parts.all.push_back(part);
    reducer_.ready(part);
  });
  parts.known = true;
}

void GradientStep::deliver_zeros(const Parts& parts) {
  for (const std::span<float> part : parts.all) {
    std::ranges::fill(part, 0.0f);
    reducer_.ready(part);
  }
}

/// The rows of all ranks' samples in their order in the step, so that sums over them do not depend on who has them; those that
/// hold samples are the first.
std::vector<float> GradientStep::rows_of_all(std::vector<float> Kept::*rows) {
  std::vector<float> own;
  for (const Kept& kept : kept_) own.insert(own.end(), (kept.*rows).begin(), (kept.*rows).end());
  std::vector<float> all(own.size() * static_cast<std::size_t>(comm_.size()));
  const core::Timer timer;
  comm_.all_gather(std::span<const float>(own), std::span(all));
  summing_ += timer.seconds();
  return all;
}

}  // namespace cosmo::train
