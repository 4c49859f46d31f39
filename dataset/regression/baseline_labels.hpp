#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace cosmo::dataset {

/// Labels that a regression says of the samples of a split, and what is made of them and a network's.
class BaselineLabels {
 public:
  /// labels (samples, P)
  BaselineLabels(std::vector<float> labels, int parameters)
      : labels_(std::move(labels)), shares_(static_cast<std::size_t>(parameters), 0.0) {}

  /// The share of the regression in what mix() says of each parameter (P), 0 at first.
  const std::vector<double>& shares() const { return shares_; }
  void set_shares(std::vector<double> shares) { shares_ = std::move(shares); }

  /// Sets the shares, each from 0 to 1, that minimise the squared errors of the mixture over all samples, of
  /// which the network says `said` and the truth is `truth` (samples, P).
  void choose_shares(std::span<const float> said, std::span<const float> truth);

  /// said + share × (label - said) of all samples (samples, P).
  std::vector<float> mix(std::span<const float> said) const;

 private:
  std::vector<float> labels_;
  std::vector<double> shares_;
};

}  // namespace cosmo::dataset
