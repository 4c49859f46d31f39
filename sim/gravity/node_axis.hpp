#pragma once

#include "core/grid.hpp"

namespace cosmo::sim {

/// The nodes of a periodic mesh along an axis: node i is at i h, or, on the second mesh of an interlaced pair, at
/// (i - 1/2) h. A coordinate x lies above node (x + shift) / h, rounded down; node n is node 0.
struct NodeAxis {
  explicit NodeAxis(const core::GridSpec& grid, bool shifted = false)
      : inverse_cell(static_cast<float>(grid.cells_per_side / grid.box_size)),
        shift(shifted ? static_cast<float>(grid.cell_size() / 2) : 0),
        nodes(grid.cells_per_side),
        last(shifted ? nodes : nodes - 1) {}

  float inverse_cell;  ///< [h/Mpc]
  float shift;         ///< [Mpc/h]. It is added before the product, which rounds the same everywhere
  int nodes;
  int last;  ///< the highest node that a coordinate below the box size lies above; rounding may give more
};

}  // namespace cosmo::sim
