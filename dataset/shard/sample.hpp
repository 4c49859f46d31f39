#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace cosmo::dataset {

/// What is known about one sample, except its voxels.
struct Sample {
  std::uint32_t simulation = 0;             ///< index of the simulation in its suite
  std::uint8_t subvolume = 0;               ///< number of the sub-volume, x slowest
  std::uint64_t seed = 0;                   ///< seed of the simulation's initial conditions
  std::vector<double> parameters = {};      ///< (P) physical values, in the order of the ParameterSpace
  std::uint16_t roll = 0;                   ///< number of the roll of the box before it was cut; 0: none
  std::array<std::uint16_t, 3> shift = {};  ///< voxel of the box that the roll made the first
  std::vector<double> settings = {};        ///< (S) in the columns of the dataset
};

}  // namespace cosmo::dataset
