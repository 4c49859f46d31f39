#include "histogram/subvolumes.hpp"

#include "core/error.hpp"

namespace cosmo::histogram {

Subvolumes::Subvolumes(int grid_cells, int cuts) : cuts_(cuts), cells_(cuts > 0 ? grid_cells / cuts : 0) {
  core::ensure(
      cells_ > 0 && cells_ * cuts == grid_cells, core::Fault::config,
      "A --grid of {} voxels per side cannot be cut in {} equal parts: choose --subvolumes that divide it.",
      grid_cells, cuts);
}

std::array<int, 3> Subvolumes::origin(int n) const {
  return {n / (cuts_ * cuts_) * cells_, n / cuts_ % cuts_ * cells_, n % cuts_ * cells_};
}

}  // namespace cosmo::histogram
