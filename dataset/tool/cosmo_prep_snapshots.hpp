#pragma once

#include <string>

#include "core/run/tool.hpp"

namespace cosmo::dataset {

/// Runs cosmo-prep histogram on the snapshots of a table and writes a suite; cosmo-prep shard reads it like
/// one that cosmo-sim wrote. Collective.
void run_histogram_of_table(const core::Invocation& run);

}  // namespace cosmo::dataset
