#pragma once
// cosmo-prep shard: the samples of a suite's counts, in shards.

#include "core/run/tool.hpp"

namespace cosmo::dataset {

void declare_shard(core::Options& options);
void run_shard(const core::Invocation& run);

}  // namespace cosmo::dataset
