#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cosmo::nn {

/// Endings of the names of a normalisation's parameters.
constexpr std::string_view kMeanSuffix = ".mean", kDeviationSuffix = ".deviation";

/// A view of the weights or the biases of one layer, or of the statistics of a normalisation (which are
/// measured, not learned, and whose gradient is zero), in the network's arenas; valid as long as the network.
/// The spans are in oneDNN's layout, including padding (always zero); `dims` describes the plain, row-major
/// layout: (outputs, inputs, kernel, kernel, kernel), (outputs, channels, size, size, size) or
/// (outputs, inputs), and (outputs).
struct Parameter {
  enum class Role { weights, biases, statistics };

  std::string name;  ///< the layer's name and the role: "conv1.weights"
  Role role;
  std::size_t index;  ///< position in Network::parameters()
  std::vector<std::int64_t> dims;
  std::int64_t fan_in;   ///< inputs that one output sees
  std::int64_t fan_out;  ///< outputs that one input reaches, ignoring borders
  std::size_t offset;    ///< offset of the spans in the arenas [floats], a multiple of 16
  std::span<float> values;
  std::span<float> gradient;  ///< empty in inference

  /// Number of elements of the plain layout.
  std::size_t elements() const {
    std::size_t product = 1;
    for (const std::int64_t dim : dims) product *= static_cast<std::size_t>(dim);
    return product;
  }
};

}  // namespace cosmo::nn
