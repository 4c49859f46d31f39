#pragma once
// Local non-Gaussianity of the initial field: Φ = φ + f_NL (φ² - <φ²>).
//
// Φ is Bardeen's potential in the matter era (the CMB's convention of f_NL), positive where matter is
// overdense: minus Newton's potential / c². A positive f_NL gives a positive skewness, and more haloes.
// Source: Komatsu & Spergel 2001 (astro-ph/0005036), equation 1; Dalal et al. 2008 (arXiv:0710.4560), which
// have the Poisson equation as here.

#include <functional>

#include "core/fourier/fourier_mesh.hpp"
#include "sim/linear/transfer_function.hpp"

namespace cosmo::sim {

/// α(k) = 2 k² T(k) D(1) / (3 Ωm (H0/c)²), with which delta(k) = α(k) Φ(k) linearly today, k in h/Mpc.
/// `transfer` need not be 1 for k -> 0: it is divided by its value at `large_scales` [h/Mpc]. `growth` is
/// D(1), where D = a in the matter era: Background::growth().
std::function<double(double)> density_per_potential(TransferFunction transfer, double large_scales,
                                                    double omega_m, double growth);

/// Adds to the modes of a Gaussian delta = α φ what local non-Gaussianity does: f_NL α (φ² - <φ²>)(k), with
/// φ² on the mesh of delta. Needs another such mesh. Collective.
void add_local_non_gaussianity(fourier::FourierMesh& delta, double f_nl,
                               const std::function<double(double)>& alpha);

}  // namespace cosmo::sim
