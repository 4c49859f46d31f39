#pragma once

#include <array>
#include <span>

#include "core/fourier/fourier_mesh.hpp"
#include "sim/gravity/particle_set.hpp"
#include "sim/linear/background.hpp"

namespace cosmo::sim {

/// The third order of Lagrangian perturbation theory. With φ the potential of the field, φ2 that of S (see
/// lagrangian_particles()), Φ_ij = φ,ij, B_ij = φ2,ij and the growth Da, Db, Dc of ThirdGrowth:
///
///   psi3 = Da ∇∇⁻² (-det Φ) - Db ∇∇⁻² (tr Φ tr B - tr ΦB) - Dc ∇⁻² ∇×ω,  ω_i = ½ ε_ijk (BΦ - ΦB)_jk.
///
/// Holds the modes of its five sources. Source: as ThirdGrowth; docs/method/cola.md derives it.
class ThirdOrder {
 public:
  /// Computes it from the modes of the field and of S at D1 = 1. Needs six more meshes meanwhile. Collective.
  ThirdOrder(const fourier::FourierMesh& delta, const fourier::FourierMesh& second,
             fourier::FourierMesh& scratch);

  /// Changes psi1 and psi2 so that x = q + D1 psi1 + D2 psi2 and its rate T[x] are right to third order at a,
  /// whatever integrator starts from them. Collective.
  void add_to(ParticleSet& particles, const Background& background, double a,
              fourier::FourierMesh& scratch) const;

 private:
  struct Weights;
  void add(std::span<float> column, const Weights& weights, fourier::FourierMesh& scratch) const;

  fourier::FourierMesh determinant_, mixed_;
  std::array<fourier::FourierMesh, 3> curl_;
};

}  // namespace cosmo::sim
