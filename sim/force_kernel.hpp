#pragma once

#include <array>
#include <string_view>

namespace cosmo::sim {

/// How the force mesh differentiates: dφ/dx = (near (φ₊₁ - φ₋₁) + far (φ₊₂ - φ₋₂)) / cell size.
/// Antisymmetric, so that equal weights for deposit and gather leave total momentum zero. Solves Poisson's
/// equation with -1/k².
struct ForceKernel {
  std::string_view name;
  float near;
  float far;
};

/// "four-point" is exact to fourth order in k times cell size and has 2 % rms error at 4 cells from a point
/// mass; "two-point" is softer (second order).
inline constexpr std::array<ForceKernel, 2> kForceKernels = {{
    {"four-point", 8.0f / 12, -1.0f / 12},
    {"two-point", 0.5f, 0.0f},
}};

/// The kernel called `name`. Throws Error{config} that lists the names.
const ForceKernel& find_force_kernel(std::string_view name);

}  // namespace cosmo::sim
