#pragma once

#include <array>
#include <string_view>

namespace cosmo::sim {

/// How the force mesh computes forces from -1/k² times the density. It differentiates by
/// dφ/dx = (near (φ₊₁ - φ₋₁) + far (φ₊₂ - φ₋₂)) / cell size, which is antisymmetric, so that equal weights
/// for deposit and gather keep the total momentum zero.
struct ForceKernel {
  std::string_view name;
  float near;
  float far;
  /// The window by which deposit and gather multiply a wave, W² = Π sinc⁴(k_i h/2) with cell size h, is
  /// undone for waves of kh up to about this value: the factor is 1 + (1/W² - 1) exp(-(kh/fade)²). 0: not
  /// undone.
  double fade;
  /// Whether the force is the mean of those of two meshes, half a cell apart along each axis. What the
  /// differences D lack along the wave is then undone as well: the factor has (k·D)/(D² W²) in place of 1/W².
  bool interlaced;
  std::string_view meaning;
};

/// "four-point" is exact to fourth order in kh and has 2 % rms error at 4 cells from a point mass;
/// "two-point" is softer (second order). "deconvolved" is "four-point" and stronger from 3 cells inwards;
/// beyond, its error is the same. docs/decisions/0009. "interlaced" is sharper still: a
/// wave's aliases of odd order have the other sign on the second mesh (Hockney & Eastwood 1988, section 7-8).
/// docs/decisions/0026.
inline constexpr std::array<ForceKernel, 4> kForceKernels = {{
    {"deconvolved", 8.0f / 12, -1.0f / 12, 1.6, false, "strongest at small distances"},
    {"four-point", 8.0f / 12, -1.0f / 12, 0, false, "fourth order"},
    {"two-point", 0.5f, 0.0f, 0, false, "second order, softer"},
    {"interlaced", 8.0f / 12, -1.0f / 12, 3, true,
     "the mean of two meshes, half a cell apart: sharpest, twice the work"},
}};

/// The kernel that gives the best spectra: "deconvolved" if the mesh is not finer than the particles'
/// lattice, which then looks uniform to the mesh. On a finer mesh that kernel would amplify the lattice's own
/// forces, so "four-point" is better.
constexpr std::string_view best_force_kernel(int mesh_per_side, int particles_per_side) {
  return mesh_per_side > particles_per_side ? "four-point" : "deconvolved";
}

/// The kernel called `name`. Throws Error{config} listing the names.
const ForceKernel& find_force_kernel(std::string_view name);

}  // namespace cosmo::sim
