#pragma once
// What a network reads, and whether data are of that kind.

#include <string>
#include <vector>

#include "core/universe/length.hpp"
#include "core/universe/universe.hpp"
#include "nn/census.hpp"

namespace cosmo::nn {

/// A sample that a network reads: its channels, their redshifts and its voxels.
struct InputSpec : Shape {
  std::vector<double> redshifts = {0};  ///< one per channel
  core::Length voxel_size = {};         ///< in the unit that the suite's universes share
  core::LineOfSight line_of_sight = {};

  /// Throws Error{config} that names the data unless shapes and lines of sight are equal, redshifts the same to
  /// 1e-3 and voxels, in the same unit, to 1e-6.
  void ensure_fits(const InputSpec& found, const std::string& data) const;
  /// The same for the redshifts alone, in the channels' order.
  void ensure_redshifts(const std::vector<double>& found, const std::string& data) const;
  /// The same for the line of sight alone.
  void ensure_space(const core::LineOfSight& found, const std::string& data) const;
  /// The same for the voxels alone.
  void ensure_voxel(const core::Length& found, const std::string& data) const;
};

}  // namespace cosmo::nn
