#pragma once
// cosmo-infer --white-noise: a sample of a universe's initial conditions, for cosmo-sim.

#include "core/run/tool.hpp"

namespace cosmo::infer {

/// Declares --white-noise and the options that apply with it.
void declare_sample(core::Options& options);

/// Throws Error{usage} naming an option that has no use with --white-noise, or, without that, one that applies only with it.
void check_sample(const core::Options& options);

/// Writes the file of --white-noise for the universe of --input. Collective. Throws an agreed Error{usage} unless the model predicts
/// initial densities, Error{config} for several models or universes, a model without the posterior of modes, parameters that
/// are not known, and a file that may not be replaced.
void run_sample(const core::Invocation& run);

}  // namespace cosmo::infer
