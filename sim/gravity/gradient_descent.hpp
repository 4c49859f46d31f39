#pragma once

#include <cmath>
#include <string>
#include <string_view>

#include "sim/gravity/force_mesh.hpp"
#include "sim/gravity/particle_set.hpp"

namespace cosmo::sim {

/// Potential gradient descent: particles move down the potential of the waves that a coarse mesh follows too weakly,
///
///   x -= α ∇∇⁻² (F δ),  F(k) = exp(-(k_l/k)² - (k/k_s)⁴),
///
/// which gives haloes the concentration that they have on a finer mesh. Source: Dai, Feng & Seljak 2018
/// (arXiv:1804.00671), section 2, in units where α is a share of the displacement that δ belongs to. Few steps lose more of
/// what haloes have where these are heavier, so α grows with sigma_8.
struct GradientDescent {
  double alpha = 0;       ///< α for sigma_8 = 0.85; 0: particles stay
  double long_wave = 0;   ///< k_l [h/Mpc]
  double short_wave = 0;  ///< k_s [h/Mpc]
  double growth = 0;      ///< α grows as sigma_8 to this power

  double alpha_of(double sigma_8) const { return alpha * std::pow(sigma_8 / 0.85, growth); }
  bool operator==(const GradientDescent&) const = default;
};

/// "none", "ALPHA,KL,KS", or with a fourth number for the power of sigma_8.
std::string text_of(const GradientDescent& descent);

/// The fit to runs on a mesh of 6N, at z = 0, for COLA from z = 9, with a force kernel, an order of the start, particles and cells these
/// distances [Mpc/h] apart, and a number of steps. docs/figures/fit_gradient_descent.py made the table. Throws Error{config} listing
/// what has been fitted.
GradientDescent find_descent(std::string_view force_kernel, int lpt_order, double spacing, double cell,
                             int steps);

/// Whether find_descent() has one.
bool has_fit(std::string_view force_kernel, int lpt_order, double spacing, double cell, int steps);

/// Moves the particles. Each must be on the rank that owns its x, and is so afterwards. Overwrites the force mesh.
/// Collective. Throws as ForceMesh::solve() and settle() do.
void descend(ParticleSet& particles, ForceMesh& forces, const GradientDescent& descent, double sigma_8);

}  // namespace cosmo::sim
