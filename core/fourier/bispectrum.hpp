#pragma once

#include <cstddef>
#include <vector>

#include "core/fourier/fourier_mesh.hpp"
#include "core/fourier/window.hpp"

namespace cosmo::fourier {

/// Triangles of one kind, by the shell of their equal sides.
struct TriangleSums {
  std::vector<double> triangles;  ///< number of ordered triples k1 + k2 + k3 = 0; to 1e-6 if above 1e6
  std::vector<double> b;          ///< mean of V² modes(k1) modes(k2) modes(k3) [(Mpc/h)⁶]
  std::vector<double> q;          ///< b / (P1 P2 + P2 P3 + P3 P1), of the shells' own power
};

/// A bispectrum for triangles between spherical shells of wavevectors. Shells are two fundamental wavenumbers
/// wide, and a quarter of their inner radius where that is more. The first has .5 <= |k| < 2.5 of them.
struct Bispectrum {
  std::vector<double> k;      ///< mean wavenumber of the shell's modes [h/Mpc]
  std::vector<double> power;  ///< mean of V |modes|² [(Mpc/h)³]
  TriangleSums equilateral;   ///< all sides in the same shell
  TriangleSums squeezed;      ///< k1 in the first shell, k2 and k3 in the same
};

/// Measures the bispectrum of a density contrast given by its modes, divided by W of the assignment, up to
/// `largest` fundamental wavenumbers, by inverse transforms of shells: Σ_x I1 I2 I3, over the same sum of
/// unit modes. They are done on the smallest mesh on which no triangle closes by way of an alias. Shot noise
/// is not subtracted: for a Poisson process of density n it is (P1 + P2 + P3)/n - 2/n², with the power measured
/// here. No shells fit in less than 2 fundamental wavenumbers. Gives the same bits for any number of ranks
/// and threads. Collective. Throws Error{internal} if the mesh has no modes up to `largest`, Error{config} if
/// there are more ranks than shell_mesh_side().
/// Source: Scoccimarro 2000 (astro-ph/0004086), the estimator; Sefusatti et al. 2016 (arXiv:1512.07295).
Bispectrum bispectrum(const FourierMesh& delta, int largest, MassAssignment assignment);

/// Cells per side of the mesh on which bispectrum() transforms its shells.
int shell_mesh_side(int largest);

/// Memory that bispectrum() takes beyond `delta` when `ranks` share its meshes [bytes].
std::size_t bispectrum_memory_bytes(int largest, int ranks);

}  // namespace cosmo::fourier
