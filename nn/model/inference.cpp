#include "nn/model/inference.hpp"

namespace cosmo::nn {

int batch_of(Shape input) {
  constexpr int kBatch = 8;
  constexpr std::int64_t kLargest = 64 * 64 * 64;  // voxels of a sample
  return input.elements() > kLargest ? 1 : kBatch;
}

Arithmetic arithmetic_of(const NetworkSpec& network, Shape input, int outputs) {
  const NetworkCensus census = take_census(network, input, outputs);
  return {Precision::f32, choose_filtered(network, census, 1, ConvolutionMethod::automatic)};
}

std::size_t width_with_features(const Network& network) {
  return static_cast<std::size_t>(network.outputs()) +
         network.features().size() / static_cast<std::size_t>(network.batch());
}

void forward_with_features(Network& network, std::vector<float>& rows) {
  const auto batch = static_cast<std::size_t>(network.batch());
  const std::span<const float> outputs = network.forward(), features = network.features();
  rows.clear();
  for (std::size_t n = 0; n < batch; ++n) {
    for (const std::span<const float> part : {outputs, features}) {
      const std::size_t width = part.size() / batch;
      rows.insert(rows.end(), part.begin() + static_cast<std::ptrdiff_t>(n * width),
                  part.begin() + static_cast<std::ptrdiff_t>((n + 1) * width));
    }
  }
}

}  // namespace cosmo::nn
