#include "dataset/regression/baseline_labels.hpp"

#include <algorithm>

namespace cosmo::dataset {

void BaselineLabels::choose_shares(std::span<const float> said, std::span<const float> truth) {
  const std::size_t parameters = shares_.size();
  for (std::size_t p = 0; p < parameters; ++p) {
    double product = 0, square = 0;
    for (std::size_t i = p; i < labels_.size(); i += parameters) {
      const double apart = static_cast<double>(labels_[i]) - static_cast<double>(said[i]);
      product += apart * (static_cast<double>(truth[i]) - static_cast<double>(said[i]));
      square += apart * apart;
    }
    shares_[p] = square > 0 ? std::clamp(product / square, 0.0, 1.0) : 0;
  }
}

std::vector<float> BaselineLabels::mix(std::span<const float> said) const {
  std::vector<float> mixed(said.begin(), said.end());
  for (std::size_t i = 0; i < mixed.size(); ++i) {
    const auto own = static_cast<double>(said[i]);
    mixed[i] =
        static_cast<float>(own + shares_[i % shares_.size()] * (static_cast<double>(labels_[i]) - own));
  }
  return mixed;
}

}  // namespace cosmo::dataset
