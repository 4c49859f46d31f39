#include "train/nn/loss.hpp"

#include <algorithm>
#include <cmath>

#include "core/error.hpp"

namespace cosmo::nn {

using core::ensure;
using core::Fault;

namespace {

/// Sums value(difference) over the valid rows and writes derivative(difference), both as `Loss` says.
template <class Value, class Derivative>
double accumulate(std::span<float> d_output, std::span<const float> predictions,
                  std::span<const float> targets, const LossRows& rows, Value value, Derivative derivative) {
  const auto valid = static_cast<std::size_t>(rows.valid) * static_cast<std::size_t>(rows.outputs);
  ensure(rows.outputs >= 1 && rows.valid >= 0 && rows.normaliser > 0 &&
             predictions.size() == d_output.size() && targets.size() >= valid && predictions.size() >= valid,
         Fault::internal, "A loss over {} rows of {} values got {} predictions, {} targets, {} gradients.",
         rows.valid, rows.outputs, predictions.size(), targets.size(), d_output.size());
  double sum = 0;
  for (std::size_t i = 0; i < valid; ++i) {
    const double difference = static_cast<double>(predictions[i]) - static_cast<double>(targets[i]);
    sum += value(difference);
    d_output[i] = static_cast<float>(derivative(difference) / (rows.outputs * rows.normaliser));
  }
  std::fill(d_output.begin() + static_cast<std::ptrdiff_t>(valid), d_output.end(), 0.0f);
  return sum / rows.outputs;
}

}  // namespace

double mean_absolute_error(std::span<float> d_output, std::span<const float> predictions,
                           std::span<const float> targets, const LossRows& rows) {
  return accumulate(
      d_output, predictions, targets, rows, [](double difference) { return std::abs(difference); },
      [](double difference) { return static_cast<double>((difference > 0) - (difference < 0)); });
}

double mean_squared_error(std::span<float> d_output, std::span<const float> predictions,
                          std::span<const float> targets, const LossRows& rows) {
  return accumulate(
      d_output, predictions, targets, rows, [](double difference) { return difference * difference; },
      [](double difference) { return 2 * difference; });
}

}  // namespace cosmo::nn
