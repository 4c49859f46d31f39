#pragma once
// cosmo-infer with a model that predicts a field: a split, with metrics and a report, or universes in files.

#include "core/run/tool.hpp"

namespace cosmo::infer {

/// Whether the first of the models that --model names predicts a field. Throws what loading it does.
bool predicts_field(const core::Options& options);

/// Predicts a split or universes in files and publishes their fields. Collective.
void run_fields(const core::Invocation& run);

}  // namespace cosmo::infer
