#pragma once
// cosmo-prep describe: what a dataset holds, where it comes from, and what it looks like.

#include "core/run/stage.hpp"
#include "core/run/tool.hpp"
#include "dataset/shard/dataset_manifest.hpp"

namespace cosmo::dataset {

void declare_describe(core::Options& options);
void run_describe(const core::Invocation& run);

/// The splits, sizes, shapes, parameters and statistics of a dataset.
core::Report report_of(const DatasetManifest& manifest);

}  // namespace cosmo::dataset
