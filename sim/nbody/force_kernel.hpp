#pragma once

#include <array>
#include <string_view>

namespace cosmo::sim {

/// How the force mesh makes forces of -1/k² times the density. It differentiates by
/// dφ/dx = (near (φ₊₁ - φ₋₁) + far (φ₊₂ - φ₋₂)) / cell size, which is antisymmetric, so that equal weights
/// for deposit and gather leave total momentum zero.
struct ForceKernel {
  std::string_view name;
  float near;
  float far;
  /// The window that deposit and gather multiply a wave by, W² = Π sinc⁴(k_i h/2), is undone up to waves of
  /// about this wavenumber times the cell size h: the factor is 1 + (1/W² - 1) exp(-(kh/fade)²). 0: nowhere.
  double fade;
  std::string_view meaning;
};

/// "four-point" is exact to fourth order in kh and has 2 % rms error at 4 cells from a point mass;
/// "two-point" is softer (second order). "deconvolved" is "four-point" and stronger from 3 cells inwards;
/// beyond, its error is the same. docs/decisions/0009.
inline constexpr std::array<ForceKernel, 3> kForceKernels = {{
    {"deconvolved", 8.0f / 12, -1.0f / 12, 1.6, "strongest at small distances"},
    {"four-point", 8.0f / 12, -1.0f / 12, 0, "fourth order"},
    {"two-point", 0.5f, 0.0f, 0, "second order, softer"},
}};

/// Which kernel gives the best spectra: "deconvolved" if the mesh is no finer than the lattice of the
/// particles, which it then sees as uniform. On a finer one it would amplify the lattice's own forces:
/// "four-point".
constexpr std::string_view best_force_kernel(int mesh_per_side, int particles_per_side) {
  return kForceKernels[mesh_per_side > particles_per_side].name;
}

/// The kernel called `name`. Throws Error{config} that lists the names.
const ForceKernel& find_force_kernel(std::string_view name);

}  // namespace cosmo::sim
