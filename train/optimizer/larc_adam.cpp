#include "train/optimizer/larc_adam.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/error.hpp"

namespace cosmo::train {

using core::ensure;
using core::Fault;

namespace {

/// Adam's constants, in the precision of the arrays.
struct Adam {
  explicit Adam(const LarcAdamConfig& config)
      : beta1(static_cast<float>(config.beta1)),
        beta2(static_cast<float>(config.beta2)),
        one_minus_beta1(static_cast<float>(1 - config.beta1)),
        one_minus_beta2(static_cast<float>(1 - config.beta2)),
        epsilon(static_cast<float>(config.epsilon)) {}

  /// The update without learning rate and bias correction.
  float direction(float m, float v) const { return m / (std::sqrt(v) + epsilon); }

  float beta1, beta2, one_minus_beta1, one_minus_beta2, epsilon;
};

/// Σ value(i)² in double, over sixteen partial sums added in a fixed order.
template <class Value>
double sum_of_squares(std::size_t size, Value value) {
  std::array<double, 16> partial = {};
  std::size_t i = 0;
  for (; i + 16 <= size; i += 16) {
#pragma omp simd
    for (std::size_t lane = 0; lane < 16; ++lane) {
      const auto x = static_cast<double>(value(i + lane));
      partial[lane] += x * x;
    }
  }
  for (; i < size; ++i) partial[i % 16] += static_cast<double>(value(i)) * static_cast<double>(value(i));
  double total = 0;
  for (const double sum : partial) total += sum;
  return total;
}

/// m = β1 m + (1-β1) s g and v = β2 v + (1-β2) (s g)².
void update_moments(float* m, float* v, const float* g, std::size_t size, float s, const Adam& adam) {
#pragma omp simd
  for (std::size_t i = 0; i < size; ++i) {
    const float scaled = s * g[i];
    m[i] = adam.beta1 * m[i] + adam.one_minus_beta1 * scaled;
    v[i] = adam.beta2 * v[i] + adam.one_minus_beta2 * scaled * scaled;
  }
}

void move(float* x, const float* m, const float* v, std::size_t size, float rate, const Adam& adam) {
#pragma omp simd
  for (std::size_t i = 0; i < size; ++i) x[i] -= rate * adam.direction(m[i], v[i]);
}

void shrink(float* x, std::size_t size, float factor) {
#pragma omp simd
  for (std::size_t i = 0; i < size; ++i) x[i] *= factor;
}

/// √(1-β2^t) / (1-β1^t) with t = n + 1, which makes the moments' ratio unbiased.
double bias_correction(const LarcAdamConfig& config, std::int64_t n) {
  const auto t = static_cast<double>(n + 1);
  return std::sqrt(1 - std::pow(config.beta2, t)) / (1 - std::pow(config.beta1, t));
}

}  // namespace

void validate(const LarcAdamConfig& config) {
  ensure(config.beta1 >= 0 && config.beta1 < 1 && config.beta2 >= 0 && config.beta2 < 1, Fault::config,
         "Adam's beta1 = {} and beta2 = {} must be at least 0 and below 1.", config.beta1, config.beta2);
  ensure(config.epsilon > 0 && config.larc_coefficient > 0 && config.larc_fallback > 0, Fault::config,
         "Adam's epsilon = {} and LARC's coefficient = {} and fallback = {} must be positive.",
         config.epsilon, config.larc_coefficient, config.larc_fallback);
  ensure(config.weight_decay >= 0 && config.weight_decay < 1, Fault::config,
         "The weight decay of --optimizer adamw, {}, is not at least 0 and below 1: give one that is.",
         config.weight_decay);
}

LarcAdam::LarcAdam(std::span<const nn::Parameter> parameters, const LarcAdamConfig& config)
    : Optimizer(config.learning_rate),
      config_(config),
      parameters_(parameters.size()),
      blocks_(split_into_blocks(parameters)),
      block_sums_(blocks_.size()),
      first_moment_(core::zeros<float>(arena_size(parameters))),
      second_moment_(core::zeros<float>(arena_size(parameters))) {
  validate(config);
  for (const nn::Parameter& parameter : parameters)
    decays_.push_back(config.weight_decay > 0 && parameter.role == nn::Parameter::Role::weights);
}

void LarcAdam::step(std::int64_t n) {
  const Adam adam(config_);
  const double rate = learning_rate(n);
  const double correction = bias_correction(config_, n);
  const auto m = [&](const Block& block) { return first_moment_.data() + block.first; };
  const auto v = [&](const Block& block) { return second_moment_.data() + block.first; };
  std::vector<double> gradient_scales(parameters_, 1.0), rates(parameters_, rate);

  if (config_.larc == LarcMode::paper) {
    for_each_block(blocks_, [&](std::size_t b, const Block& block) {
      block_sums_[b] = {sum_of_squares(block.size, [&](std::size_t i) { return block.values[i]; }),
                        sum_of_squares(block.size, [&](std::size_t i) { return block.gradient[i]; })};
    });
    gradient_scales = local_rates();
    for (double& scale : gradient_scales) scale = std::min(scale, 1.0);
  }
  if (config_.larc == LarcMode::trust_ratio) {
    for_each_block(blocks_, [&](std::size_t b, const Block& block) {
      update_moments(m(block), v(block), block.gradient, block.size, 1, adam);
      const float scale = static_cast<float>(correction);
      block_sums_[b] = {sum_of_squares(block.size, [&](std::size_t i) { return block.values[i]; }),
                        sum_of_squares(block.size, [&](std::size_t i) {
                          return scale * adam.direction(m(block)[i], v(block)[i]);
                        })};
    });
    rates = local_rates();
    for (double& local : rates) local = std::min(local, rate);
  }
  for_each_block(blocks_, [&](std::size_t, const Block& block) {
    if (config_.larc != LarcMode::trust_ratio) {
      const auto scale = static_cast<float>(gradient_scales[block.parameter]);
      update_moments(m(block), v(block), block.gradient, block.size, scale, adam);
    }
    if (decays_[block.parameter])
      shrink(block.values, block.size, static_cast<float>(1 - rate * config_.weight_decay));
    move(block.values, m(block), v(block), block.size,
         static_cast<float>(rates[block.parameter] * correction), adam);
  });
}

std::vector<double> LarcAdam::local_rates() const {
  std::vector<SquareSums> sums(parameters_);
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    sums[blocks_[b].parameter].values += block_sums_[b].values;
    sums[blocks_[b].parameter].other += block_sums_[b].other;
  }
  std::vector<double> rates;
  for (const SquareSums& sum : sums) {
    const bool known = sum.values > 0 && sum.other > 0;
    rates.push_back(known ? config_.larc_coefficient * std::sqrt(sum.values / sum.other)
                          : config_.larc_fallback);
  }
  return rates;
}

}  // namespace cosmo::train
