#pragma once
// cosmo-train: a network that reads cosmological parameters off particle counts.

#include "core/run/tool.hpp"

namespace cosmo::train {

/// Its commands.
core::Tool cosmo_train_tool();

}  // namespace cosmo::train
