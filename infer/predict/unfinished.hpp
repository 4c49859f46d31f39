#pragma once
// Models whose training is not finished.

#include <string>
#include <vector>

#include "core/run/options.hpp"
#include "nn/model/model_manifest.hpp"

namespace cosmo::infer {

void declare_unfinished(core::Options& options);

/// A sentence on each model that is not finished, given the directories they are in, for the outputs that are
/// made with it. Throws Error{config} naming the first one unless --unfinished is given.
std::vector<std::string> doubts_of_unfinished(const core::Options& options,
                                              const std::vector<std::string>& directories,
                                              const std::vector<nn::ModelManifest>& models);

}  // namespace cosmo::infer
