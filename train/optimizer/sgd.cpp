#include "train/optimizer/sgd.hpp"

#include "core/error.hpp"

namespace cosmo::train {

namespace {

void update(float* x, float* m, const float* g, std::size_t size, float mu, float eta) {
#pragma omp simd
  for (std::size_t i = 0; i < size; ++i) {
    m[i] = mu * m[i] - eta * g[i];
    x[i] += m[i];
  }
}

}  // namespace

void validate(const SgdConfig& config) {
  core::ensure(config.momentum >= 0 && config.momentum < 1, core::Fault::config,
               "The momentum of --optimizer sgd is {}: give a number from 0 to below 1.", config.momentum);
}

Sgd::Sgd(std::span<const nn::Parameter> parameters, const SgdConfig& config)
    : Optimizer(config.learning_rate),
      mu_(static_cast<float>(config.momentum)),
      blocks_(split_into_blocks(parameters)),
      momentum_(core::zeros<float>(arena_size(parameters))) {
  validate(config);
}

void Sgd::step(std::int64_t n) {
  const auto eta = static_cast<float>(learning_rate(n));
  for_each_block(blocks_, [&](std::size_t, const Block& block) {
    update(block.values, momentum_.data() + block.first, block.gradient, block.size, mu_, eta);
  });
}

}  // namespace cosmo::train
