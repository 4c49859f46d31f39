#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "nn/census.hpp"
#include "nn/network_spec.hpp"
#include "nn/output/labels.hpp"
#include "nn/output/loss_rows.hpp"

namespace cosmo::nn {

/// Throws Error{config} unless the network ends in these voxels. `wanted`: what the target has, and `example`: a network that does,
/// both for the message; `kind`: what a baseline does not predict.
void ensure_ends_in(const Shape& voxels, const NetworkSpec& network, const NetworkCensus& census,
                    std::string_view kind, std::string_view wanted, std::string_view example);

/// Outputs that are a field on the voxels of the input, in units of the training samples' standard deviation about their
/// mean.
struct Field {
  Shape voxels;
  LabelError error;

  Shape shape() const { return voxels; }
  std::vector<float> start() const { return {}; }
  /// The mean over a sample's voxels of |output - truth| or (output - truth)², as Output::loss. Its bits are
  /// the same for any number of threads.
  double loss(const LossArrays& arrays, const LossRows& rows) const;
  std::size_t calibration_values() const { return 0; }
  /// Throws Error{config} unless the network ends in such a field.
  void ensure_made_by(const NetworkSpec& network, const NetworkCensus& census) const;

  bool operator==(const Field&) const = default;
};

}  // namespace cosmo::nn
