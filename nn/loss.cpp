#include "nn/loss.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/error.hpp"
#include "nn/posterior/mixture_head.hpp"

namespace cosmo::nn {

using core::ensure;
using core::Fault;

namespace {

void check_sizes(std::span<float> d_output, std::span<const float> outputs, std::span<const float> labels,
                 const LossRows& rows, int outputs_a_row) {
  const auto valid = static_cast<std::size_t>(std::max(rows.valid, 0));
  ensure(rows.parameters >= 1 && rows.valid >= 0 && rows.normaliser > 0 &&
             outputs.size() == d_output.size() &&
             labels.size() >= valid * static_cast<std::size_t>(rows.parameters) &&
             outputs.size() >= valid * static_cast<std::size_t>(outputs_a_row),
         Fault::internal, "A loss over {} rows of {} labels got {} outputs, {} labels, {} gradients.",
         rows.valid, rows.parameters, outputs.size(), labels.size(), d_output.size());
}

/// Sums value(difference) over the valid rows and writes derivative(difference), both as `Loss` specifies.
template <class Value, class Derivative>
double accumulate(std::span<float> d_output, std::span<const float> outputs, std::span<const float> labels,
                  const LossRows& rows, Value value, Derivative derivative) {
  check_sizes(d_output, outputs, labels, rows, rows.parameters);
  const auto valid = static_cast<std::size_t>(rows.valid) * static_cast<std::size_t>(rows.parameters);
  double sum = 0;
  for (std::size_t i = 0; i < valid; ++i) {
    const double difference = static_cast<double>(outputs[i]) - static_cast<double>(labels[i]);
    sum += value(difference);
    d_output[i] = static_cast<float>(derivative(difference) / (rows.parameters * rows.normaliser));
  }
  std::fill(d_output.begin() + static_cast<std::ptrdiff_t>(valid), d_output.end(), 0.0f);
  return sum / rows.parameters;
}

/// The loss of one row, and its gradient.
double likelihood_row(std::span<float> d_output, std::span<const float> output, std::span<const float> label,
                      const LossRows& rows) {
  std::array<Component, kMostComponents> storage;
  const std::span<const Component> mixture = read_mixture(storage, output, rows.parameters);
  Vector truth{};
  std::copy(label.begin(), label.end(), truth.begin());
  const double log_density = nn::log_density(mixture, truth);
  gradient_of(d_output, output, mixture, log_density, truth, rows.parameters * rows.normaliser);
  return -log_density / rows.parameters;
}

}  // namespace

double mean_absolute_error(std::span<float> d_output, std::span<const float> outputs,
                           std::span<const float> labels, const LossRows& rows) {
  return accumulate(
      d_output, outputs, labels, rows, [](double difference) { return std::abs(difference); },
      [](double difference) { return static_cast<double>((difference > 0) - (difference < 0)); });
}

double mean_squared_error(std::span<float> d_output, std::span<const float> outputs,
                          std::span<const float> labels, const LossRows& rows) {
  return accumulate(
      d_output, outputs, labels, rows, [](double difference) { return difference * difference; },
      [](double difference) { return 2 * difference; });
}

double likelihood(std::span<float> d_output, std::span<const float> outputs, std::span<const float> labels,
                  const LossRows& rows) {
  const auto parameters = static_cast<std::size_t>(rows.parameters);
  const auto width = static_cast<std::size_t>(mixture_outputs(rows.parameters, rows.components));
  check_sizes(d_output, outputs, labels, rows, static_cast<int>(width));
  std::vector<double> losses(static_cast<std::size_t>(rows.valid));
#pragma omp parallel for schedule(static)
  for (std::size_t row = 0; row < losses.size(); ++row) {
    losses[row] = likelihood_row(d_output.subspan(row * width, width), outputs.subspan(row * width, width),
                                 labels.subspan(row * parameters, parameters), rows);
  }
  const auto valid = static_cast<std::ptrdiff_t>(losses.size() * width);
  std::fill(d_output.begin() + valid, d_output.end(), 0.0f);
  return std::accumulate(losses.begin(), losses.end(), 0.0);
}

int LossEntry::outputs(int parameters) const {
  return density ? mixture_outputs(parameters, components) : parameters;
}

std::vector<float> LossEntry::start(int parameters) const {
  return density ? mixture_start(parameters, components) : std::vector<float>();
}

const LossEntry& find_loss(std::string_view name) {
  for (const LossEntry& entry : kLosses) {
    if (entry.name == name) return entry;
  }
  core::fail(Fault::format, "There is no loss called {}: train again.", name);
}

}  // namespace cosmo::nn
