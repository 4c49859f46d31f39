#include "dataset/target_scaler.hpp"

#include <utility>

namespace cosmo::dataset {

TargetScaler::TargetScaler(core::ParameterSpace space) : space_(std::move(space)) {}

void TargetScaler::to_unit(std::span<const double> physical, std::span<float> unit) const {
  for (std::size_t p = 0; p < size(); ++p) {
    unit[p] = static_cast<float>(2 * (physical[p] - space_.low[p]) / (space_.high[p] - space_.low[p]) - 1);
  }
}

void TargetScaler::to_physical(std::span<const float> unit, std::span<double> physical) const {
  for (std::size_t p = 0; p < size(); ++p) {
    physical[p] = space_.low[p] + (static_cast<double>(unit[p]) + 1) / 2 * (space_.high[p] - space_.low[p]);
  }
}

}  // namespace cosmo::dataset
