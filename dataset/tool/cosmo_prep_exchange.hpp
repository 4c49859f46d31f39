#pragma once
// cosmo-prep export and import: samples in the files of other programs.

#include "core/run/tool.hpp"

namespace cosmo::dataset {

void declare_export(core::Options& options);
/// Writes every sample of a dataset to a file of its own, and a table of what the files cannot hold.
/// Collective; throws as OutputDirectory and export_dataset() do.
void run_export(const core::Invocation& run);

void declare_import(core::Options& options);
/// Makes a dataset from samples in such files. Collective; throws as OutputDirectory and import_dataset() do.
void run_import(const core::Invocation& run);

}  // namespace cosmo::dataset
