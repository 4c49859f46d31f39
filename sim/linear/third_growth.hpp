#pragma once

#include <array>

#include "sim/linear/background.hpp"

namespace cosmo::sim {

/// Growth of the third order at one time: a displacement D · psi3, its rate T[D] = Q dD/da.
struct ThirdGrowth {
  struct Mode {
    double D, T_D;
  };
  Mode determinant;  ///< D³ × -1/3 in the matter era, the source is det A with A_ij = -φ,ij
  Mode mixed;        ///< D³ × 5/21, the source is tr A tr B - tr AB with B_ij the gradients of psi2
  Mode transverse;   ///< D³ × -1/7, the curl of psi3 is the antisymmetric part of AB
};

/// Solves, with D1(1) = 1,
///
///   T²[Da] = κ (Da - 2 D1³),  T²[Db] = κ (Db + D1 (D1² - D2)),  T[Dc] = D1 T[D2] - D2 T[D1],  κ = 3/2 Ωm a,
///
/// from the matter era (with radiation: from where the Background begins) on. Source: Bouchet et al. 1995
/// (astro-ph/9406013) and Catelan 1995 for the terms; docs/method/cola.md derives these forms for any dark energy.
ThirdGrowth third_growth(const Background& background, double a);

}  // namespace cosmo::sim
