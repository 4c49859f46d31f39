#pragma once
// Several models with one posterior: a directory that cosmo-train --posterior-only --model A,B,C wrote.

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "nn/model/model_manifest.hpp"
#include "nn/model/model_posterior.hpp"

namespace cosmo::nn {

inline constexpr const char* kEnsembleStage = "ensemble";

/// The directories that a list names, separated by commas; a single one may have commas in its name. Throws Error{usage}
/// for an empty or a repeated name.
std::vector<std::string> model_directories(const std::string& list);

/// Throws Error{config} naming two directories unless all models have other weights, read the same input by the same
/// transform, and predict the same parameters of the same ranges.
void ensure_alike(std::span<const ModelManifest> models, std::span<const std::string> directories);

/// Number of predictions of all models for a sample that their posterior is conditioned on.
std::size_t predictions_of(std::span<const ModelManifest> models);

/// The request of an ensemble of models of stage "train" that were trained on the same data.
core::Request ensemble_request(std::span<const ModelManifest> models,
                               std::span<const std::string> directories, const core::InputRecord& data,
                               const std::filesystem::path& output);

/// Whether a directory holds an ensemble.
bool is_ensemble(const std::filesystem::path& directory);

/// An ensemble and where its models are.
struct EnsembleManifest {
  core::Manifest base;
  std::vector<std::string> directories;
};

/// Throws as core::load_manifest() does.
EnsembleManifest load_ensemble(const std::filesystem::path& directory);

/// The posterior of an ensemble whose models were loaded from its directories. Throws Error{config} if a model has other
/// weights than the posterior was fitted to, Error{format} as the other read_posterior() does.
ModelPosterior read_posterior(const std::filesystem::path& directory, const EnsembleManifest& ensemble,
                              std::span<const ModelManifest> models);

}  // namespace cosmo::nn
