#pragma once

#include <vector>

#include "nn/census.hpp"
#include "nn/network_spec.hpp"
#include "nn/output/loss_rows.hpp"

namespace cosmo::nn {

/// Errors of labels that a training can minimise.
enum class LabelError { absolute, squared };

/// Outputs that are labels themselves: the parameters, their ranges mapped to [-1, 1].
struct Labels {
  int parameters;
  LabelError error;

  Shape shape() const { return {parameters, 1}; }
  /// The last layer's biases start as those of other layers.
  std::vector<float> start() const { return {}; }
  /// |output - label| or (output - label)², as Output::loss; the gradient of the former is 0 where they are equal.
  double loss(const LossArrays& arrays, const LossRows& rows) const;
  std::size_t calibration_values() const { return 0; }
  /// Throws Error{config} for a network that ends in a field.
  void ensure_made_by(const NetworkSpec& network, const NetworkCensus& census) const;

  bool operator==(const Labels&) const = default;
};

}  // namespace cosmo::nn
