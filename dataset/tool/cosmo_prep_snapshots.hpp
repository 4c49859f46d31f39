#pragma once

#include <string>

#include "core/run/tool.hpp"

namespace cosmo::dataset {

/// cosmo-prep histogram of the snapshots of a table, to a suite that cosmo-prep shard takes as if cosmo-sim
/// had written it. Collective.
void run_histogram_of_table(const core::Invocation& run);

}  // namespace cosmo::dataset
