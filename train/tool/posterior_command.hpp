#pragma once

#include "core/run/tool.hpp"

namespace cosmo::train {

/// Declares --posterior-only and its --model.
void declare_posterior(core::Options& options);

/// Runs cosmo-train --posterior-only: fits the posterior of the finished model in --output, from the data that it was trained
/// on, and adds it to its files; its id stays. Or, with --model, that of several models, an output of its own. Collective. Throws an agreed Error{config} for a model that is not finished,
/// diverged or predicts a density, for other data, and where a posterior cannot be fitted.
void run_posterior(const core::Invocation& run);

}  // namespace cosmo::train
