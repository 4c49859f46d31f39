#include "nn/model/input_spec.hpp"

#include <algorithm>
#include <cmath>

#include "core/error.hpp"

namespace cosmo::nn {

using core::ensure;
using core::Fault;

void InputSpec::ensure_fits(const InputSpec& found, const std::string& data) const {
  ensure(found.channels == channels && found.size == size, Fault::config,
         "{} has samples of {} x {}³ voxels and the model reads {} x {}³: give the kind of data it was "
         "trained on.",
         data, found.channels, found.size, channels, size);
  ensure_redshifts(found.redshifts, data);
  ensure_space(found.line_of_sight, data);
  ensure_voxel(found.voxel_size, data);
}

void InputSpec::ensure_redshifts(const std::vector<double>& found, const std::string& data) const {
  constexpr double kRounding = 1e-3;
  const auto same = [](double a, double b) { return std::abs(a - b) <= kRounding; };
  ensure(std::ranges::equal(found, redshifts, same), Fault::config,
         "{} is of z = {} and the model reads z = {}: give the redshifts it was trained on.", data,
         fmt::join(found, ", "), fmt::join(redshifts, ", "));
}

void InputSpec::ensure_space(const core::LineOfSight& found, const std::string& data) const {
  ensure(found == line_of_sight, Fault::config,
         "{} is in {} and the model was trained in {}: give the kind of data it was trained on.", data,
         core::describe_space(found), core::describe_space(line_of_sight));
}

void InputSpec::ensure_voxel(const core::Length& found, const std::string& data) const {
  constexpr double kRounding = 1e-6;
  ensure(
      found.unit == voxel_size.unit, Fault::config,
      "{} has voxels in {} and the model was trained on voxels in {}: give the kind of data it was trained "
      "on.",
      data, name_of(found.unit), name_of(voxel_size.unit));
  ensure(
      std::abs(found.value / voxel_size.value - 1) < kRounding, Fault::config,
      "{} has voxels of {:.9g} {} and the model was trained on {:.9g} {}: count it on another --grid, or give the "
      "kind of data it was trained on.",
      data, found.value, name_of(found.unit), voxel_size.value, name_of(voxel_size.unit));
}

}  // namespace cosmo::nn
