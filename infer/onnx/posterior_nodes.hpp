#pragma once

#include <string>

#include "core/universe/universe.hpp"
#include "infer/onnx/onnx_graph.hpp"
#include "nn/density/conditional_density.hpp"

namespace cosmo::infer {

/// The most parameters of a posterior that a graph can hold: the number of nodes of its quadrature grows as a power of
/// the number of parameters.
inline constexpr std::size_t kMostGraphParameters = 3;

/// Appends the nodes that compute a density's moments from predictions (N, F), unclipped, and declares them as outputs, in
/// physical units: posterior_mean (N, P), posterior_deviation (N, P), posterior_covariance (N, P, P).
///
/// For each factor, given each combination of the earlier parameters' nodes, a component has kNodes Gauss-Legendre nodes
/// in the part of the range where its density exceeds exp(-18) times the highest there (as nn::core_of). The nodes' weights
/// are normalised to the component's weight, so no error function is needed.
void append_posterior(OnnxGraph& graph, const nn::ConditionalDensity& density,
                      const core::ParameterSpace& space, const std::string& predictions);

}  // namespace cosmo::infer
