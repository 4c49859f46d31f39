#include "dataset/shard/target_scaler.hpp"

#include <utility>
#include <vector>

namespace cosmo::dataset {

TargetScaler::TargetScaler(core::ParameterSpace space) : space_(std::move(space)) {}

void TargetScaler::to_unit(std::span<const double> physical, std::span<double> unit) const {
  for (std::size_t p = 0; p < size(); ++p) {
    unit[p] = 2 * (physical[p] - space_.low[p]) / (space_.high[p] - space_.low[p]) - 1;
  }
}

void TargetScaler::to_unit(std::span<const double> physical, std::span<float> unit) const {
  std::vector<double> exact(size());
  to_unit(physical, exact);
  for (std::size_t p = 0; p < size(); ++p) unit[p] = static_cast<float>(exact[p]);
}

void TargetScaler::to_physical(std::span<const double> unit, std::span<double> physical) const {
  for (std::size_t p = 0; p < size(); ++p) {
    physical[p] = space_.low[p] + (unit[p] + 1) / 2 * (space_.high[p] - space_.low[p]);
  }
}

void TargetScaler::to_physical(std::span<const float> unit, std::span<double> physical) const {
  to_physical(std::vector<double>(unit.begin(), unit.end()), physical);
}

}  // namespace cosmo::dataset
