#include "train/prepare/label_spread.hpp"

#include <cmath>

namespace cosmo::train {

namespace {

/// Moments of the labels of a split's samples (P), in [-1, 1], where squares keep their digits.
struct LabelMoments {
  std::vector<double> mean, square;
};

LabelMoments moments_of(const dataset::SplitReader& split, std::size_t count) {
  LabelMoments moments{std::vector<double>(count), std::vector<double>(count)};
  for (std::uint32_t i = 0; i < split.size(); ++i) {
    const std::span<const float> labels = split.labels(i);
    for (std::size_t p = 0; p < count; ++p) {
      moments.mean[p] += labels[p];
      moments.square[p] += double{labels[p]} * labels[p];
    }
  }
  for (std::vector<double>* sums : {&moments.mean, &moments.square})
    for (double& sum : *sums) sum /= split.size();
  return moments;
}

}  // namespace

nn::LabelSpread measure_label_spread(const dataset::SplitReader& training,
                                     const dataset::SplitReader& validation,
                                     const core::ParameterSpace& parameters) {
  const std::size_t count = parameters.size();
  const LabelMoments learned = moments_of(training, count), held_out = moments_of(validation, count);
  nn::LabelSpread spread{std::vector<double>(count), std::vector<double>(count), std::vector<double>(count)};
  for (std::size_t p = 0; p < count; ++p) {
    const double unit = (parameters.high[p] - parameters.low[p]) / 2;
    const double mean = learned.mean[p];
    const auto distance = [&](const LabelMoments& of) {  // rms, from the mean of the training labels
      return unit * std::sqrt(std::max(0.0, of.square[p] - 2 * mean * of.mean[p] + mean * mean));
    };
    spread.mean[p] = (parameters.low[p] + parameters.high[p]) / 2 + unit * mean;
    spread.standard_deviation[p] = distance(learned);
    spread.validation_rms[p] = distance(held_out);
  }
  return spread;
}

}  // namespace cosmo::train
