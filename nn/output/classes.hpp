#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/format/json.hpp"
#include "nn/census.hpp"
#include "nn/network_spec.hpp"
#include "nn/output/loss_rows.hpp"

namespace cosmo::nn {

/// Outputs that are a logit for each class of each voxel of the input, a channel for each class: the probabilities are their softmax.
struct Classes {
  Shape logits;
  std::vector<double> weights;  ///< (classes) of voxels of a class, on average 1 over the training's voxels

  Shape shape() const { return logits; }
  std::vector<float> start() const { return {}; }
  /// The mean over a sample's voxels of weight × -log(probability of the true class), natural logarithm, as Output::loss; the targets
  /// are numbers of classes. Its bits are the same for any number of threads. Throws Error{internal} for a target that is none.
  double loss(const LossArrays& arrays, const LossRows& rows) const;
  std::size_t calibration_values() const { return 0; }
  /// Throws Error{config} unless the network ends in such logits.
  void ensure_made_by(const NetworkSpec& network, const NetworkCensus& census) const;
  void identify(core::Json& config) const { config["class_weights"] = weights; }

  /// The loss of the best logits that are the same everywhere, for classes with these shares of the voxels.
  double constant_loss(std::span<const double> shares) const;

  bool operator==(const Classes&) const = default;
};

/// Weights ∝ share^-exponent of classes with these shares of the training's voxels, all positive: 0 leaves voxels alike, 1 makes
/// classes alike.
std::vector<double> class_weights(std::span<const double> shares, double exponent);

/// The class with the largest of a voxel's logits (classes, voxels), the first of equal ones.
void most_likely(std::span<const float> logits, std::span<std::uint8_t> classes);

}  // namespace cosmo::nn
