#pragma once
// How a trained network computes when it only predicts.

#include <cstddef>
#include <vector>

#include "nn/model/model_manifest.hpp"
#include "nn/network.hpp"

namespace cosmo::nn {

/// Samples that the model predicts at once: one where they are large.
int batch_of(Shape input);
inline int batch_of(const ModelManifest& model) { return batch_of(model.input); }

/// How its network computes: convolutions are filtered where that is faster for a single sample, so that
/// predictions do not depend on the batch.
Arithmetic arithmetic_of(const NetworkSpec& network, Shape input, int outputs);
inline Arithmetic arithmetic_of(const ModelManifest& model) {
  return arithmetic_of(model.network, model.network_input(), model.outputs());
}

/// Number of outputs and features of a network for one sample.
std::size_t width_with_features(const Network& network);
/// Predicts its input: `rows` become (batch, outputs + features), each sample's features after its outputs.
void forward_with_features(Network& network, std::vector<float>& rows);

}  // namespace cosmo::nn
