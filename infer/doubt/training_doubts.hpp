#pragma once
// Reasons to doubt a model that its training gives.

#include <string>
#include <vector>

#include "core/run/options.hpp"
#include "infer/predict/model.hpp"

namespace cosmo::infer {

void declare_unfinished(core::Options& options);

/// A sentence on each model that is not finished, that diverged, or that predicts a parameter no better than the mean of its
/// training labels, given the directories they are in, for the outputs that are made with it. Throws Error{config} naming the
/// first one that is not finished or diverged unless --unfinished is given.
std::vector<std::string> training_doubts(const core::Options& options,
                                         const std::vector<std::string>& directories,
                                         const std::vector<Model>& models);

}  // namespace cosmo::infer
