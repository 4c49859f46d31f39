#pragma once
// cosmo-prep histogram: a snapshot's particles, whoever wrote it, to a counts file.

#include "core/tool.hpp"

namespace cosmo::dataset {

void declare_histogram(core::Options& options);
void run_histogram(const core::Invocation& run);

}  // namespace cosmo::dataset
