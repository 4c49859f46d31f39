#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "infer/onnx/onnx_graph.hpp"
#include "nn/network.hpp"

namespace cosmo::infer {

/// Appends the nodes of a layer of a network that computes the tensor `target` from `sources`.
void append_layer(OnnxGraph& graph, const nn::Network& network, const nn::NetworkSpec& spec,
                  std::size_t layer, const std::vector<std::string>& sources, const std::string& target);

}  // namespace cosmo::infer
