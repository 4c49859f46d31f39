#pragma once
// cosmo-prep: from the counts of a suite to the samples that a network is trained on.

#include "core/run/tool.hpp"

namespace cosmo::dataset {

/// The tool with its commands.
core::Tool cosmo_prep_tool();

}  // namespace cosmo::dataset
