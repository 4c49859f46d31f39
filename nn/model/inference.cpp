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

}  // namespace cosmo::nn
