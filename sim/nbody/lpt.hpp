#pragma once

#include "core/fourier/fourier_mesh.hpp"
#include "sim/nbody/particle_set.hpp"

namespace cosmo::sim {

/// Particles at rest on the nodes q = i L/N of the mesh that holds `delta` (modes, at D1 = 1), with their
/// Lagrangian displacements today. With ∇²φ = delta:
///
///   psi1 = -∇φ,  psi2 = ∇∇⁻² S,  S = Σ_{i<j} (φ,ii φ,jj - φ,ij²),  x = q + D1 psi1 + D2 psi2 where D2 < 0,
///
/// or ik/k² delta_k and -ik/k² S_k. There is one particle per mesh cell, on the rank that holds its plane; p
/// is 0. Odd derivatives have no Nyquist modes. Needs two more meshes, and frees them all. Collective over
/// the mesh's communicator. Source: second-order Lagrangian perturbation theory as in Scoccimarro 1998
/// (astro-ph/9711187); tests/sim checks signs and factors against the exact second order of three plane
/// waves.
ParticleSet lagrangian_particles(fourier::FourierMesh delta);

}  // namespace cosmo::sim
