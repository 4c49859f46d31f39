#pragma once
// How mass assignment smooths the density on a mesh.

#include <vector>

namespace cosmo::fourier {

/// How particles were assigned to the cells of a mesh, which smooths the density by a window.
enum class MassAssignment {
  exact,               ///< the field is not smoothed
  nearest_grid_point,  ///< W(k) = Π sinc(π k_i / (2 k_Nyquist))
  cloud_in_cell,       ///< the square of that
};

/// 1/W² along one axis of n cells, at wavenumbers 0 … n/2.
std::vector<double> inverse_square_window(int n, MassAssignment assignment);

}  // namespace cosmo::fourier
