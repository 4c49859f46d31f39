#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace cosmo::dataset {

/// A regression's labels for the samples of a split, and their mixture with a network's labels.
class BaselineLabels {
 public:
  /// labels (samples, P)
  BaselineLabels(std::vector<float> labels, int parameters)
      : labels_(std::move(labels)), shares_(static_cast<std::size_t>(parameters), 0.0) {}

  /// The regression's share in the result of mix() for each parameter (P), initially 0.
  const std::vector<double>& shares() const { return shares_; }
  void set_shares(std::vector<double> shares) { shares_ = std::move(shares); }

  /// Sets the shares, each from 0 to 1, that minimise the squared errors of the mixture over all samples,
  /// from the network's labels and the true ones (samples, P).
  void choose_shares(std::span<const float> said, std::span<const float> truth);

  /// network + share × (label - network) for all samples (samples, P), from the network's labels.
  std::vector<float> mix(std::span<const float> said) const;

 private:
  std::vector<float> labels_;
  std::vector<double> shares_;
};

}  // namespace cosmo::dataset
