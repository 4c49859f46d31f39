#pragma once

#include <string_view>

#include "sim/gravity/force_mesh.hpp"
#include "sim/gravity/particle_set.hpp"

namespace cosmo::sim {

/// Potential gradient descent: particles move down the potential of the waves that a coarse mesh follows too weakly,
///
///   x -= α ∇∇⁻² (F δ),  F(k) = exp(-(k_l/k)² - (k/k_s)⁴),
///
/// which gives haloes the concentration that they have on a finer mesh. Source: Dai, Feng & Seljak 2018
/// (arXiv:1804.00671), section 2, in units where α is a share of the displacement that δ belongs to.
struct GradientDescent {
  double alpha = 0;       ///< 0: particles stay
  double long_wave = 0;   ///< k_l [h/Mpc]
  double short_wave = 0;  ///< k_s [h/Mpc]
};

/// The fit to runs on a mesh of 6N, at z = 0, for COLA from a third-order start at z = 9, with a force kernel, particles and cells these
/// distances [Mpc/h] apart, and a number of steps. docs/figures/fit_gradient_descent.py made the table. Throws Error{config} listing
/// what has been fitted.
GradientDescent find_descent(std::string_view force_kernel, double spacing, double cell, int steps);

/// Moves the particles. Each must be on the rank that owns its x, and is so afterwards. Overwrites the force mesh.
/// Collective. Throws as ForceMesh::solve() and settle() do.
void descend(ParticleSet& particles, ForceMesh& forces, const GradientDescent& descent);

}  // namespace cosmo::sim
