#include "dataset/regression/baseline_labels.hpp"

#include <algorithm>

namespace cosmo::dataset {

void BaselineLabels::choose_shares(std::span<const float> predicted, std::span<const float> truth) {
  const std::size_t parameters = shares_.size();
  for (std::size_t p = 0; p < parameters; ++p) {
    double product = 0, square = 0;
    for (std::size_t i = p; i < labels_.size(); i += parameters) {
      const double difference = static_cast<double>(labels_[i]) - static_cast<double>(predicted[i]);
      product += difference * (static_cast<double>(truth[i]) - static_cast<double>(predicted[i]));
      square += difference * difference;
    }
    shares_[p] = square > 0 ? std::clamp(product / square, 0.0, 1.0) : 0;
  }
}

std::vector<float> BaselineLabels::mix(std::span<const float> predicted) const {
  std::vector<float> mixed(predicted.begin(), predicted.end());
  for (std::size_t i = 0; i < mixed.size(); ++i) {
    const auto label = static_cast<double>(predicted[i]);
    mixed[i] =
        static_cast<float>(label + shares_[i % shares_.size()] * (static_cast<double>(labels_[i]) - label));
  }
  return mixed;
}

}  // namespace cosmo::dataset
