#pragma once
// cosmo-infer: cosmological parameters from particle counts, with honest errors.

#include "core/run/tool.hpp"

namespace cosmo::infer {

/// The tool with its commands.
core::Tool cosmo_infer_tool();

}  // namespace cosmo::infer
