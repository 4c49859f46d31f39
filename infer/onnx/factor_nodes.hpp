#pragma once

#include <string>
#include <vector>

#include "infer/onnx/onnx_scope.hpp"
#include "nn/density/conditional_density.hpp"

namespace cosmo::infer {

/// Nodes of a parameter given those of the earlier parameters. Tensors have the shape of its level, (N, members, 1, nodes of
/// the first parameter, ..., nodes of this one), in label coordinates.
struct ParameterNodes {
  std::string theta;    ///< the parameter
  std::string y;        ///< its coordinate, nn::Coordinates
  std::string weights;  ///< probabilities given the earlier parameters: sum 1 along the last axis
};

/// Appends the coordinates (N, F) of predictions (N, F).
std::string append_coordinates(OnnxScope& scope, const nn::Coordinates& coordinates,
                               const std::string& predictions);

/// Appends the nodes of the parameter after `earlier`, from the predictions' coordinates.
ParameterNodes append_factor(OnnxScope& scope, const nn::ConditionalDensity& density,
                             const std::string& coordinates, const std::vector<ParameterNodes>& earlier);

}  // namespace cosmo::infer
