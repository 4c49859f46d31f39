#include "train/prepare/label_spread.hpp"

#include <cmath>

namespace cosmo::train {

nn::LabelSpread measure_label_spread(const dataset::SplitReader& training,
                                     const core::ParameterSpace& parameters) {
  const std::size_t count = parameters.size();
  std::vector<double> sum(count), square(count);  // of labels in [-1, 1], whose squares keep their digits
  for (std::uint32_t i = 0; i < training.size(); ++i) {
    const std::span<const float> labels = training.target(i);
    for (std::size_t p = 0; p < count; ++p) {
      sum[p] += labels[p];
      square[p] += double{labels[p]} * labels[p];
    }
  }
  nn::LabelSpread spread{std::vector<double>(count), std::vector<double>(count)};
  for (std::size_t p = 0; p < count; ++p) {
    const double unit = (parameters.high[p] - parameters.low[p]) / 2;
    const double mean = sum[p] / training.size();
    spread.mean[p] = (parameters.low[p] + parameters.high[p]) / 2 + unit * mean;
    spread.standard_deviation[p] = unit * std::sqrt(std::max(0.0, square[p] / training.size() - mean * mean));
  }
  return spread;
}

}  // namespace cosmo::train
