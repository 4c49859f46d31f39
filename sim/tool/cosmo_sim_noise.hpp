#pragma once
// cosmo-sim noise: a universe's white noise for other programs, and for generate --white-noise.

#include "core/run/tool.hpp"

namespace cosmo::sim {

void declare_noise(core::Options& options);

/// Writes --output FILE. Collective. Throws Error{config} if something is there that may not be replaced or
/// the field does not fit the ranks, Error{io} if it cannot be written.
void run_noise(const core::Invocation& run);

}  // namespace cosmo::sim
