#pragma once
// cosmo-train: a network that estimates cosmological parameters from particle counts.

#include "core/run/tool.hpp"

namespace cosmo::train {

/// The tool with its commands.
core::Tool cosmo_train_tool();

}  // namespace cosmo::train
