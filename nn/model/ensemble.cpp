#include "nn/model/ensemble.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "core/run/directory_list.hpp"

namespace cosmo::nn {

namespace fs = std::filesystem;
using core::ensure, core::Fault;

std::vector<std::string> model_directories(const std::string& list) {
  std::vector<std::string> directories = core::directory_list(list, "model");
  for (const std::string& directory : directories)
    ensure(std::ranges::count(directories, directory) == 1, Fault::usage,
           "Option --model names {} twice: give each directory once.", directory);
  return directories;
}

void ensure_alike(std::span<const ModelManifest> models, std::span<const std::string> directories) {
  const core::Json first = models.front().details();
  for (std::size_t m = 1; m < models.size(); ++m) {
    for (std::size_t other = 0; other < m; ++other)
      ensure(models[other].best().sha256 != models[m].best().sha256, Fault::config,
             "{} and {} of --model have the same weights: give each network once.", directories[other],
             directories[m]);
    const core::Json own = models[m].details();
    for (const char* key : {"input", "normalisation", "parameters"})
      ensure(own.at(key) == first.at(key), Fault::config,
             "{} and {} of --model differ in \"{}\": give trainings on the same kind of data.",
             directories.front(), directories[m], key);
  }
}

std::size_t predictions_of(std::span<const ModelManifest> models) {
  std::size_t all = 0;
  for (const ModelManifest& model : models) all += predictions_of(model);
  return all;
}

core::Request ensemble_request(std::span<const ModelManifest> models,
                               std::span<const std::string> directories, const core::InputRecord& data,
                               const fs::path& output) {
  core::Request request{kEnsembleStage, {{"checkpoints", core::Json::array()}}, {}};
  for (std::size_t m = 0; m < models.size(); ++m) {
    request.config["checkpoints"].push_back(models[m].best().sha256);
    request.inputs.push_back(core::input_record(directories[m], models[m].base, output));
  }
  request.inputs.push_back(data);
  return request;
}

bool is_ensemble(const fs::path& directory) {
  const fs::path path = directory / core::kManifestName;
  std::error_code error;
  return fs::is_regular_file(path, error) && core::read_json(path).value("stage", "") == kEnsembleStage;
}

EnsembleManifest load_ensemble(const fs::path& directory) {
  EnsembleManifest ensemble{core::load_manifest(directory, kEnsembleStage), {}};
  const core::Json& checkpoints = ensemble.base.request.config.at("checkpoints");
  const std::vector<core::InputRecord>& inputs = ensemble.base.request.inputs;
  ensure(checkpoints.is_array() && !checkpoints.empty() && inputs.size() == checkpoints.size() + 1,
         Fault::format, "{} does not name a model for each of its checkpoints: fit it again.",
         (directory / core::kManifestName).string());
  for (std::size_t m = 0; m < checkpoints.size(); ++m)
    ensemble.directories.push_back((directory / inputs[m].path).lexically_normal().parent_path().string());
  return ensemble;
}

ModelPosterior read_posterior(const fs::path& directory, const EnsembleManifest& ensemble,
                              std::span<const ModelManifest> models) {
  for (std::size_t m = 0; m < models.size(); ++m)
    ensure(
        ensemble.base.request.config.at("checkpoints").at(m) == models[m].best().sha256, Fault::config,
        "{} has other weights than the ensemble {} was fitted to: fit it again with cosmo-train --posterior-only.",
        ensemble.directories[m], directory.string());
  const core::FileRecord* record = ensemble.base.find(kPosteriorFile);
  ensure(record != nullptr, Fault::format, "{} lists no {}: fit it again.",
         (directory / core::kManifestName).string(), kPosteriorFile);
  return read_posterior_file(directory, *record, predictions_of(models), models.front());
}

}  // namespace cosmo::nn
