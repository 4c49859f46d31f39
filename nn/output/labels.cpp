#include "nn/output/labels.hpp"

#include <algorithm>
#include <cmath>

#include "core/error.hpp"

namespace cosmo::nn {

namespace {

/// Sums value(difference) over the valid rows and writes derivative(difference), both as Output::loss specifies.
template <class Value, class Derivative>
double accumulate(int parameters, const LossArrays& arrays, const LossRows& rows, Value value,
                  Derivative derivative) {
  arrays.check(rows, parameters, parameters);
  const auto valid = static_cast<std::size_t>(rows.valid) * static_cast<std::size_t>(parameters);
  double sum = 0;
  for (std::size_t i = 0; i < valid; ++i) {
    const double difference = static_cast<double>(arrays.outputs[i]) - static_cast<double>(arrays.targets[i]);
    sum += value(difference);
    arrays.d_output[i] = static_cast<float>(derivative(difference) / (parameters * rows.normaliser));
  }
  std::ranges::fill(arrays.d_output.subspan(valid), 0.0f);
  return sum / parameters;
}

}  // namespace

void Labels::ensure_made_by(const NetworkSpec& network, const NetworkCensus& census) const {
  core::ensure(census.layers.back().vector, core::Fault::config,
               "Network {} predicts a field and no parameters: give --target, or another --network.",
               network.name);
}

double Labels::loss(const LossArrays& arrays, const LossRows& rows) const {
  if (error == LabelError::squared) {
    return accumulate(
        parameters, arrays, rows, [](double difference) { return difference * difference; },
        [](double difference) { return 2 * difference; });
  }
  return accumulate(
      parameters, arrays, rows, [](double difference) { return std::abs(difference); },
      [](double difference) { return static_cast<double>((difference > 0) - (difference < 0)); });
}

}  // namespace cosmo::nn
