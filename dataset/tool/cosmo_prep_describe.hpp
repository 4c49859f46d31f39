#pragma once
// What cosmo-prep describe tells beside the manifest's numbers: where the data come from, and how they look.

#include <string>

#include "core/run/tool.hpp"
#include "dataset/shard/dataset_manifest.hpp"

namespace cosmo::dataset {

void declare_describe(core::Options& options);

/// Adds what made the dataset, from what and how, to the summary and the text. Throws Error{format}.
void add_provenance(const std::filesystem::path& directory, const DatasetManifest& dataset,
                    core::Json& summary, std::string& text);

/// Draws a few samples if --png asks for it, on the root rank, and says where. Collective.
/// Throws Error{config} rather than replace anything but an image, Error{io} or Error{format}.
void add_picture(const core::Invocation& run, const std::filesystem::path& directory,
                 const DatasetManifest& dataset, core::Json& summary, std::string& text);

}  // namespace cosmo::dataset
