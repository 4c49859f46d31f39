#include "train/gradient/step_loss.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "core/error.hpp"
#include "core/finite.hpp"

namespace cosmo::train {

namespace {

/// Ignores statistics, which are not finite if the step's samples are not.
bool has_finite_weights(const nn::Network& network) {
  return std::ranges::all_of(network.parameters(), [](const nn::Parameter& parameter) {
    return parameter.role == nn::Parameter::Role::statistics ||
           core::all_finite(std::span<const float>(parameter.values));
  });
}

}  // namespace

Agreement agree(const core::Communicator& comm, double loss, const Votes& votes) {
  std::array<double, 4> sums = {loss, votes.stop ? 1.0 : 0.0, votes.time_is_up ? 1.0 : 0.0,
                                votes.save ? 1.0 : 0.0};
  comm.sum(std::span<double>(sums));
  return {sums[0], {sums[1] > 0, sums[2] > 0, sums[3] > 0}};
}

std::string StepLoss::find_culprit(const dataset::Batch& batch, std::span<const float> values) const {
  const std::size_t rows = batch.targets.size() / reader_.spec().parameters.size();
  const std::size_t width = values.size() / rows;
  for (std::size_t row = 0; row < batch.samples.size(); ++row) {
    if (!core::all_finite(values.subspan(row * width, width))) return reader_.describe(batch.samples[row]);
  }
  return "";
}

void StepLoss::add(const dataset::Batch& batch, std::span<const float> predictions, double loss) {
  sum_ += loss;
  if (!std::isfinite(sum_) && culprit_.empty()) culprit_ = find_culprit(batch, predictions);
}

void StepLoss::examine(const dataset::Batch& batch, std::span<const float> features) {
  if (origin_.empty()) origin_ = find_culprit(batch, features);
}

void StepLoss::reset() {
  sum_ = 0;
  origin_.clear();
  culprit_.clear();
}

void StepLoss::fail(const core::Communicator& comm, nn::Network& network, std::int64_t step) const {
  std::vector<std::string> culprits = comm.gather(origin_);
  std::ranges::move(comm.gather(culprit_), std::back_inserter(culprits));
  const auto first =
      std::find_if(culprits.begin(), culprits.end(), [](const auto& text) { return !text.empty(); });
  const std::string culprit = first == culprits.end() ? "no single sample" : *first;
  const bool whole = comm.max(has_finite_weights(network) ? 0 : 1) == 0;
  const std::string sentence =
      whole ? fmt::format(
                  "The loss of step {} is not finite, first for {}: lower --learning-rate, or look at "
                  "that sample; checkpoints are as they were.",
                  step + 1, culprit)
            : fmt::format(
                  "The weights are no longer finite after step {}: lower --learning-rate; checkpoints "
                  "are as they were.",
                  step);
  throw core::Error(core::Fault::numeric, sentence, true);
}

}  // namespace cosmo::train
