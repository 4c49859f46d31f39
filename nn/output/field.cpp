#include "nn/output/field.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "core/error.hpp"

namespace cosmo::nn {

namespace {

/// Returns the sum of value(difference) over some voxels, and writes derivative(difference) × `scale`.
template <class Value, class Derivative>
double sum_of(std::span<float> d_output, std::span<const float> outputs, std::span<const float> targets,
              float scale, Value value, Derivative derivative) {
  double sum = 0;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const float difference = outputs[i] - targets[i];
    sum += static_cast<double>(value(difference));
    d_output[i] = scale * derivative(difference);
  }
  return sum;
}

}  // namespace

double Field::loss(const LossArrays& arrays, const LossRows& rows) const {
  constexpr std::size_t kTogether = 1 << 14;
  const auto all = static_cast<int>(voxels.elements()), width = rows.width(all);
  arrays.check(rows, width, width);
  const std::size_t valid = static_cast<std::size_t>(rows.valid) * static_cast<std::size_t>(width);
  const auto scale = static_cast<float>(1 / (all * rows.normaliser));
  std::vector<double> sums((valid + kTogether - 1) / kTogether);
#pragma omp parallel for schedule(static)
  for (std::size_t part = 0; part < sums.size(); ++part) {
    const std::size_t first = part * kTogether, size = std::min(kTogether, valid - first);
    const std::span<float> d_output = arrays.d_output.subspan(first, size);
    const std::span<const float> outputs = arrays.outputs.subspan(first, size),
                                 targets = arrays.targets.subspan(first, size);
    sums[part] = error == LabelError::squared
                     ? sum_of(
                           d_output, outputs, targets, scale, [](float d) { return d * d; },
                           [](float d) { return 2 * d; })
                     : sum_of(
                           d_output, outputs, targets, scale, [](float d) { return std::abs(d); },
                           [](float d) { return static_cast<float>((d > 0) - (d < 0)); });
  }
  std::ranges::fill(arrays.d_output.subspan(valid), 0.0f);
  return std::accumulate(sums.begin(), sums.end(), 0.0) / all;
}

void ensure_ends_in(const Shape& voxels, const NetworkSpec& network, const NetworkCensus& census,
                    std::string_view kind, std::string_view wanted, std::string_view example) {
  const Shape made = census.layers.back().output;
  core::ensure(network.baseline.empty(), core::Fault::config,
               "Network {} has a baseline, which predicts labels and no {}: give --baseline none.",
               network.name, kind);
  core::ensure(
      made == voxels, core::Fault::config,
      "Network {} makes {} channels of {}³ voxels from a sample, and {}: choose a network whose output is as large as its "
      "input, as {}, and samples whose sides its pools divide.",
      network.name, made.channels, made.size, wanted, example);
}

void Field::ensure_made_by(const NetworkSpec& network, const NetworkCensus& census) const {
  ensure_ends_in(voxels, network, census, "field",
                 fmt::format("the target has {} of {}³", voxels.channels, voxels.size), "reconet");
}

}  // namespace cosmo::nn
