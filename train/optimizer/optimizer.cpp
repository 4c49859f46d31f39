#include "train/optimizer/optimizer.hpp"

#include <algorithm>
#include <utility>

#include "core/error.hpp"

namespace cosmo::train {

namespace {

constexpr std::size_t kBlock =
    8192;  // floats: 32 KB of each array, so that two passes over a block read memory once

}  // namespace

Optimizer::Optimizer(LearningRate learning_rate) : learning_rate_(std::move(learning_rate)) {
  validate(learning_rate_);
}

std::vector<Block> split_into_blocks(std::span<const nn::Parameter> parameters) {
  std::vector<Block> blocks;
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    const nn::Parameter& parameter = parameters[p];
    core::ensure(parameter.gradient.size() == parameter.values.size(), core::Fault::internal,
                 "{} has no gradient.", parameter.name);
    for (std::size_t first = 0; first < parameter.values.size(); first += kBlock) {
      blocks.push_back({p, parameter.offset + first, std::min(kBlock, parameter.values.size() - first),
                        parameter.values.data() + first, parameter.gradient.data() + first});
    }
  }
  return blocks;
}

std::size_t arena_size(std::span<const nn::Parameter> parameters) {
  std::size_t size = 0;
  for (const nn::Parameter& parameter : parameters) {
    size = std::max(size, parameter.offset + (parameter.values.size() + 15) / 16 * 16);
  }
  return size;
}

}  // namespace cosmo::train
