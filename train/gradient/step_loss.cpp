#include "train/gradient/step_loss.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "core/error.hpp"
#include "core/finite.hpp"

namespace cosmo::train {

namespace {

/// Ignores statistics, which are not finite if the step's samples are not.
bool has_finite_weights(const nn::Network& network) {
  return std::ranges::all_of(network.parameters(), [](const nn::Parameter& parameter) {
    return parameter.role == nn::Parameter::Role::statistics || core::all_finite(parameter.values);
  });
}

}  // namespace

Agreement agree(const core::Communicator& comm, std::span<const double> losses, const Votes& votes) {
  std::vector<double> own = {votes.stop ? 1.0 : 0.0, votes.time_is_up ? 1.0 : 0.0, votes.save ? 1.0 : 0.0};
  const std::size_t counted = own.size();
  own.insert(own.end(), losses.begin(), losses.end());
  std::vector<double> all(own.size() * static_cast<std::size_t>(comm.size()));
  comm.all_gather(std::span<const double>(own), std::span(all));
  Agreement agreement{};
  for (std::size_t rank = 0; rank < all.size(); rank += own.size()) {
    agreement.votes.stop |= all[rank] > 0;
    agreement.votes.time_is_up |= all[rank + 1] > 0;
    agreement.votes.save |= all[rank + 2] > 0;
    for (std::size_t i = counted; i < own.size(); ++i) agreement.loss += all[rank + i];
  }
  return agreement;
}

std::string StepLoss::find_culprit(const dataset::Batch& batch, std::span<const float> values) const {
  const std::size_t width = values.size() / rows_;
  const std::optional<std::size_t> row =
      core::row_not_finite(values.first(batch.samples.size() * width), width);
  return row ? reader_.describe(batch.samples[*row]) : "";
}

void StepLoss::add(const dataset::Batch& batch, std::span<const float> predictions, double loss) {
  losses_.push_back(loss);
  if (std::isfinite(loss) || !culprit_.empty()) return;
  culprit_ = find_culprit(batch, predictions);
  if (culprit_.empty()) culprit_ = find_culprit(batch, batch.targets);
}

void StepLoss::examine(const dataset::Batch& batch, std::span<const float> features) {
  if (origin_.empty()) origin_ = find_culprit(batch, features);
}

void StepLoss::reset() {
  losses_.clear();
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
