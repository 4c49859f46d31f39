#include "nn/kernel/first_layer.hpp"

#include "nn/network_spec.hpp"

namespace cosmo::nn {

bool is_first_layer(const Convolution& convolution, std::int64_t channels, std::int64_t side,
                    const Layer* reader, std::int64_t block) {
  const auto is_window = [](const auto& pool) {
    return pool.size == FirstLayer::kWindow && pool.stride == FirstLayer::kWindow;
  };
  const auto* average = reader == nullptr ? nullptr : std::get_if<AveragePool>(&reader->kind);
  const auto* maximum = reader == nullptr ? nullptr : std::get_if<MaxPool>(&reader->kind);
  const bool is_pooled =
      (average != nullptr && is_window(*average)) || (maximum != nullptr && is_window(*maximum));
  return is_pooled && channels <= FirstLayer::kMostChannels && side <= FirstLayer::kLongestSide &&
         convolution.outputs % block == 0 && convolution.kernel == FirstLayer::kKernel &&
         convolution.stride == 1 && convolution.padding <= 1;
}

}  // namespace cosmo::nn
