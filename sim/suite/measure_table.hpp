#pragma once
// Tables of what is measured at each output redshift, whose columns end in _z0, _z0.5, …
//
// correlation_function.csv, one line per bin of one cell of the force mesh:
//   r_mpc_h      mean length of the bin's separations [Mpc/h]
//   separations  number of mesh separations; x and -x both count
//   xi           correlation function
//
// bispectrum.csv, one line per shell of wavevectors (core/fourier/bispectrum.hpp):
//   k_h_mpc, k_long_h_mpc                      mean wavenumber of the shell's modes, and of the first shell's [h/Mpc]
//   triangles_equilateral, triangles_squeezed  numbers of ordered triangles: all sides in the shell; one in the first
//   p                                          power of the shell [(Mpc/h)³]
//   b_equilateral, b_squeezed                  bispectrum [(Mpc/h)⁶]
//   q_equilateral, q_squeezed                  b / (P1 P2 + P2 P3 + P3 P1)

#include <vector>

#include "core/fourier/bispectrum.hpp"
#include "core/fourier/correlation_function.hpp"
#include "sim/suite/table.hpp"

namespace cosmo::sim {

/// What is measured at a redshift.
template <class Measure>
struct Measured {
  double redshift;
  Measure measure;
};

/// The tables of measurements in the same bins or shells, of one redshift or more, in the order of the columns.
std::vector<Column> table_of(const std::vector<Measured<fourier::CorrelationFunction>>& outputs);
std::vector<Column> table_of(const std::vector<Measured<fourier::Bispectrum>>& outputs);

}  // namespace cosmo::sim
