#include "nn/output/classes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/error.hpp"
#include "nn/output/field.hpp"

namespace cosmo::nn {

double Classes::loss(const LossArrays& arrays, const LossRows& rows) const {
  constexpr std::size_t kTogether = 1 << 12;
  const std::size_t classes = weights.size();
  const auto all = static_cast<int>(logits.elements());
  const auto width = static_cast<std::size_t>(rows.width(all)), voxels = width / classes;
  const double all_voxels = static_cast<double>(all) / static_cast<double>(classes);
  arrays.check(rows, static_cast<int>(width), static_cast<int>(voxels));
  const std::size_t valid = static_cast<std::size_t>(rows.valid),
                    parts = (voxels + kTogether - 1) / kTogether;
  const double scale = 1 / (all_voxels * rows.normaliser);
  std::vector<double> sums(valid * parts);
  bool good = true;
#pragma omp parallel for schedule(static) reduction(&& : good)
  for (std::size_t part = 0; part < sums.size(); ++part) {
    const std::size_t row = part / parts, first = part % parts * kTogether;
    for (std::size_t v = first; v < std::min(voxels, first + kTogether); ++v) {
      const float* z = &arrays.outputs[row * width + v];
      float* d = &arrays.d_output[row * width + v];
      const float target = arrays.targets[row * voxels + v];
      if (!(target >= 0 && target < static_cast<float>(classes))) {
        good = false;
        continue;
      }
      const auto truth = static_cast<std::size_t>(target);
      double most = static_cast<double>(z[0]), sum = 0;
      for (std::size_t c = 1; c < classes; ++c) most = std::max(most, static_cast<double>(z[c * voxels]));
      for (std::size_t c = 0; c < classes; ++c) sum += std::exp(static_cast<double>(z[c * voxels]) - most);
      const double log_sum = most + std::log(sum), weight = weights[truth];
      sums[part] += weight * (log_sum - static_cast<double>(z[truth * voxels]));
      for (std::size_t c = 0; c < classes; ++c) {
        const double probability = std::exp(static_cast<double>(z[c * voxels]) - log_sum);
        d[c * voxels] = static_cast<float>(scale * weight * (probability - (c == truth ? 1 : 0)));
      }
    }
  }
  core::ensure(good, core::Fault::internal, "A target is not the number of one of {} classes.", classes);
  std::ranges::fill(arrays.d_output.subspan(valid * width), 0.0f);
  return std::accumulate(sums.begin(), sums.end(), 0.0) / all_voxels;
}

void Classes::ensure_made_by(const NetworkSpec& network, const NetworkCensus& census) const {
  ensure_ends_in(logits, network, census, "classes",
                 fmt::format("the {} classes of the target have {}³", logits.channels, logits.size),
                 "webnet");
}

double Classes::constant_loss(std::span<const double> shares) const {
  double all = 0, sum = 0;
  for (std::size_t c = 0; c < weights.size(); ++c) all += shares[c] * weights[c];
  for (std::size_t c = 0; c < weights.size(); ++c) {
    const double part = shares[c] * weights[c];
    if (part > 0) sum -= part * std::log(part / all);
  }
  return sum;
}

std::vector<double> class_weights(std::span<const double> shares, double exponent) {
  std::vector<double> weights;
  double mean = 0;
  for (const double share : shares) mean += share * weights.emplace_back(std::pow(share, -exponent));
  for (double& weight : weights) weight /= mean;
  return weights;
}

void most_likely(std::span<const float> logits, std::span<std::uint8_t> classes) {
  const std::size_t voxels = classes.size(), number = logits.size() / voxels;
#pragma omp parallel for schedule(static)
  for (std::size_t v = 0; v < voxels; ++v) {
    std::size_t best = 0;
    for (std::size_t c = 1; c < number; ++c) {
      if (logits[c * voxels + v] > logits[best * voxels + v]) best = c;
    }
    classes[v] = static_cast<std::uint8_t>(best);
  }
}

}  // namespace cosmo::nn
