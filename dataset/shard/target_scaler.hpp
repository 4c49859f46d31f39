#pragma once

#include <cstddef>
#include <span>

#include "core/universe/universe.hpp"

namespace cosmo::dataset {

/// Maps physical parameters to [−1, 1] by their range: unit = 2 (value − low) / (high − low) − 1.
class TargetScaler {
 public:
  explicit TargetScaler(core::ParameterSpace space);

  std::size_t size() const { return space_.size(); }
  /// Spans are (P).
  void to_unit(std::span<const double> physical, std::span<float> unit) const;
  void to_unit(std::span<const double> physical, std::span<double> unit) const;
  void to_physical(std::span<const float> unit, std::span<double> physical) const;
  void to_physical(std::span<const double> unit, std::span<double> physical) const;

 private:
  core::ParameterSpace space_;
};

}  // namespace cosmo::dataset
