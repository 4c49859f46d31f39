#pragma once

#include "core/grid.hpp"
#include "core/parallel/communicator.hpp"
#include "sim/gravity/particle_set.hpp"

namespace cosmo::sim {

/// Moves particles to where a distant observer, who looks along `axis` (0: x, 1: y, 2: z), places them by
/// their redshifts: s = x + v/(aH) = x + p/(a²E) with the peculiar velocity v = p/a · H0, in comoving Mpc/h
/// in the periodic box. `shift` is 1/(a²E). Each particle is then on the rank whose slab of `grid` contains
/// its s. Collective. Throws, on every rank, Error{numeric} if a position is no longer a number.
/// Source: Kaiser 1987 (MNRAS 227, 1), section 2, for r -> ∞.
void to_redshift_space(ParticleSet& particles, std::size_t axis, double shift, const core::Communicator& comm,
                       const core::GridSpec& grid);

}  // namespace cosmo::sim
