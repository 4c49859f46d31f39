#pragma once

#include "core/parallel/communicator.hpp"
#include "histogram/count_grid.hpp"

namespace cosmo::histogram {

/// The least share, over the three axes, of slices of the box that hold particles. Slices are as many as have at least 64
/// particles each if they are spread evenly, 20 at most; the share of a box with too few particles for four is 1. Collective.
double filled_share(const core::Communicator& comm, const CountGrid& grid);

/// A share below this is of particles in another unit than the box, or of a part of a box: voids are smaller.
inline constexpr double kLeastFilled = 0.85;

}  // namespace cosmo::histogram
