#include "train/nn/summary.hpp"

#include <fmt/format.h>

namespace cosmo::nn {

namespace {

std::string text_of(const Shape& shape) {
  return shape.size == 1 ? fmt::format("{}", shape.channels)
                         : fmt::format("{} x {}³", shape.channels, shape.size);
}

}  // namespace

std::string describe(const NetworkSpec& spec, const NetworkCensus& census) {
  std::string text = fmt::format("network {}\n", spec.name);
  for (std::size_t i = 0; i < spec.layers.size(); ++i) {
    const LayerCensus& layer = census.layers[i];
    text += fmt::format("  {:<8} {:>10} -> {:<10} {:>10} parameters\n", spec.layers[i].name,
                        text_of(layer.input), text_of(layer.output), layer.weights + layer.biases);
  }
  return text +
         fmt::format("  {} weights, {} parameters with biases, {:.3f} useful Gflop a sample and step\n",
                     census.weights(), census.parameters(), static_cast<double>(census.useful_flop()) / 1e9);
}

}  // namespace cosmo::nn
