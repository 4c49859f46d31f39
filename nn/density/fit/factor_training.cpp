#include "nn/density/fit/factor_training.hpp"

#include <algorithm>
#include <cmath>

#include "nn/density/columns.hpp"
#include "nn/density/cut_mixture.hpp"

namespace cosmo::nn {

namespace {

/// Samples side by side.
void gather(const FactorSamples& samples, std::span<const std::uint32_t> rows, Columns& x) {
  for (std::size_t column = 0; column < rows.size(); ++column) {
    for (std::size_t i = 0; i < samples.inputs; ++i)
      x.row(static_cast<int>(i))[column] = samples.x[rows[column] * samples.inputs + i];
  }
}

/// A network that is a linear factor, but for the components, which are spread so that they can learn different things:
/// their centres are 0.6 deviations apart, and the deviations are those with which the mixture has the factor's.
FactorNetwork first_network(const LinearFactor& start, int components, int hidden,
                            const core::RandomStream& stream, std::uint32_t index) {
  const auto inputs = start.slopes.size();
  FactorNetwork network({static_cast<int>(inputs), hidden, kOutputsPerComponent * components});
  network.randomise(stream, index);
  double variance = 0;
  for (int k = 0; k < components; ++k)
    variance += std::pow(0.6 * (k - (components - 1) / 2.0), 2) / components;
  const auto weights = network.weights().last(network.outer_weights());
  for (int k = 0; k < components; ++k) {
    const auto row = static_cast<std::size_t>(3 * k);
    std::ranges::copy(start.slopes, weights.subspan((row + 1) * inputs).begin());
    network.biases()[row + 1] =
        start.centre + 0.6 * (k - (components - 1) / 2.0) * std::exp(start.log_deviation);
    network.biases()[row + 2] = start.log_deviation + 0.5 * std::log(1 - variance);
  }
  return network;
}

}  // namespace

FactorTrainer::FactorTrainer(const FactorSamples& samples, const LinearFactor& start, int components,
                             const FactorTraining& training, const core::RandomStream& stream,
                             std::uint32_t index)
    : samples_(samples),
      training_(training),
      stream_(stream),
      index_(index),
      network_(first_network(start, components, training.hidden, stream, index)),
      average_(network_),
      towards_(network_.weights().size()),
      gradient_(network_.weights().size()),
      first_(gradient_.size()),
      second_(gradient_.size()),
      pass_(network_.shape(), 0) {
  // Batches of an epoch differ by one sample at most.
  const std::size_t batches =
      std::max<std::size_t>(1, (samples.size() + static_cast<std::size_t>(training.batch) / 2) /
                                   static_cast<std::size_t>(training.batch));
  const auto columns = static_cast<int>((samples.size() + batches - 1) / batches);
  const auto outer = static_cast<std::ptrdiff_t>(network_.outer_weights());
  std::copy(network_.weights().end() - outer, network_.weights().end(), towards_.end() - outer);
  x_ = Columns(static_cast<int>(samples.inputs), columns);
  derivatives_ = Columns(network_.shape().outputs, columns);
  pass_ = FactorPass(network_.shape(), columns);
}

void FactorTrainer::round() {
  for (int i = 0; i < kSteps; ++i) step();
}

void FactorTrainer::next_batch() {
  const auto all = static_cast<std::uint32_t>(samples_.size());
  const auto columns = static_cast<std::size_t>(x_.columns());
  if (order_.empty() || used_ + columns > all) {
    order_ = core::shuffled(stream_, all, (index_ << 16) + epoch_++);
    used_ = 0;
  }
  const auto rows = std::span(order_).subspan(used_, columns);
  used_ += columns;
  gather(samples_, rows, x_);
  y_.clear(), low_.clear(), high_.clear();
  for (const std::uint32_t row : rows) {
    y_.push_back(samples_.y[row]);
    low_.push_back(samples_.low[row]);
    high_.push_back(samples_.high[row]);
  }
}

void FactorTrainer::step() {
  constexpr double kFirst = 0.9, kSecond = 0.99, kLeast = 1e-8;
  next_batch();
  network_.forward(x_, pass_);
  factor_loss(pass_.outputs, {y_, low_, high_}, derivatives_);
  std::ranges::fill(gradient_, 0.0);
  network_.backward(x_, derivatives_, pass_, gradient_);
  ++steps_;
  const double scale = 1 / static_cast<double>(y_.size());
  const double rate = training_.learning_rate / (1 - std::pow(kFirst, steps_));
  const double root = 1 / std::sqrt(1 - std::pow(kSecond, steps_));
  const double pull = training_.prior / static_cast<double>(samples_.size());
  const double keep = std::min(training_.memory, (1.0 + steps_) / (10.0 + steps_));
  const auto weights = network_.weights(), averages = average_.weights();
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double slope = scale * gradient_[i] + pull * (weights[i] - towards_[i]);
    first_[i] = kFirst * first_[i] + (1 - kFirst) * slope;
    second_[i] = kSecond * second_[i] + (1 - kSecond) * slope * slope;
    weights[i] -= rate * first_[i] / (root * std::sqrt(second_[i]) + kLeast);
    averages[i] = keep * averages[i] + (1 - keep) * weights[i];
  }
}

double mean_loss(const FactorNetwork& network, const FactorSamples& samples) {
  constexpr std::size_t kAtOnce = 256;
  double total = 0;
  for (std::size_t first = 0; first < samples.size(); first += kAtOnce) {
    const std::size_t count = std::min(kAtOnce, samples.size() - first);
    std::vector<std::uint32_t> rows(count);
    for (std::size_t i = 0; i < count; ++i) rows[i] = static_cast<std::uint32_t>(first + i);
    Columns x(static_cast<int>(samples.inputs), static_cast<int>(count));
    gather(samples, rows, x);
    FactorPass pass(network.shape(), x.columns());
    network.forward(x, pass);
    const auto part = [&](const std::vector<double>& values) {
      return std::span(values).subspan(first, count);
    };
    total += factor_loss(pass.outputs, {part(samples.y), part(samples.low), part(samples.high)});
  }
  return total / static_cast<double>(samples.size());
}

}  // namespace cosmo::nn
