#pragma once
// The ways to compute a convolution.

#include "nn/build/weighted_layer.hpp"
#include "nn/kernel/axis.hpp"
#include "nn/layer/layers.hpp"

namespace cosmo::nn {

/// A convolution that is to be built.
struct ConvolutionJob {
  const Convolution& layer;
  const Tensor& source;  ///< (N, C, D, H, W)
  const Layer* reader;   ///< the one layer that reads its output, or nullptr
};

struct ConvolutionWay {
  bool (*takes)(const NetworkBuilder&, const CompiledLayer&, const ConvolutionJob&);
  Tensor (*build)(NetworkBuilder&, CompiledLayer&, const ConvolutionJob&);
};

/// In f32, together with the pool that reads it, of few channels of the network's input.
extern const ConvolutionWay kFirstLayerWay;
/// By minimal filtering in all phases, together with a pool of 2³ cells if that reads it: the tensor between them is never
/// written.
extern const ConvolutionWay kFilteredWay;
/// Any convolution without periodic padding: each phase by minimal filtering, if it is to be filtered and oneDNN's layouts
/// permit it, or by oneDNN.
extern const ConvolutionWay kPhaseWay;

/// One axis of a convolution's input.
Axis padded_axis(const Convolution& layer, std::int64_t cells, std::int64_t padding);
/// The convolution of an input of size (N, C, D, H, W) as a layer with weights.
WeightedLayer weighted_layer(const NetworkBuilder& builder, const Convolution& layer,
                             const dnnl::memory::dims& input);

}  // namespace cosmo::nn
