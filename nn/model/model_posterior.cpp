#include "nn/model/model_posterior.hpp"

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "core/hdf5/hdf5.hpp"

namespace cosmo::nn {

namespace {

constexpr const char* kSchema = "cosmo.posterior/1";
constexpr const char* kOfUniverses = "of_universes";
constexpr const char* kOfSubvolumes = "of_subvolumes";
constexpr const char* kErrorOfUniverses = "of_universes/held_out_error";
constexpr const char* kDistanceOfUniverses = "distance_of_universes";
constexpr const char* kDistanceOfSubvolumes = "distance_of_subvolumes";

}  // namespace

bool takes_posterior(const Output& output) { return !output.is_field() && output.calibration_values() == 0; }

std::size_t predictions_of(const ModelManifest& model) {
  return (model.network.baseline.empty() ? 1 : 2) * model.parameters.size();
}

void write_posterior(const std::filesystem::path& path, const ModelPosterior& posterior) {
  core::hdf5::File file = core::hdf5::File::create(path);
  file.set_attribute("schema", std::string(kSchema));
  posterior.of_universes.write(file, kOfUniverses);
  if (!posterior.error_of_universes.empty())
    file.set_attribute(kErrorOfUniverses, posterior.error_of_universes);
  if (posterior.of_subvolumes) posterior.of_subvolumes->write(file, kOfSubvolumes);
  if (posterior.distance_of_universes) posterior.distance_of_universes->write(file, kDistanceOfUniverses);
  if (posterior.distance_of_subvolumes) posterior.distance_of_subvolumes->write(file, kDistanceOfSubvolumes);
  file.close();
}

namespace {

ModelPosterior read_file(const std::string& path, std::size_t predictions, const ModelManifest& model) {
  const core::hdf5::File file = core::hdf5::File::open(path);
  const std::string schema = file.text_attribute("schema");
  core::ensure(
      schema == kSchema, core::Fault::format,
      "{} has the schema \"{}\", not \"{}\": use the version of the tools that wrote it, or fit it again with "
      "cosmo-train --posterior-only.",
      path, schema, kSchema);
  const auto density = [&](const char* group) {
    return ConditionalDensity::read(file, path, group, predictions, model.parameters.size());
  };
  ModelPosterior posterior{density(kOfUniverses), std::nullopt};
  if (model.validation.subvolumes > 1) posterior.of_subvolumes = density(kOfSubvolumes);
  if (file.has_attribute(kErrorOfUniverses)) {
    posterior.error_of_universes = file.numbers_attribute(kErrorOfUniverses);
    const auto sound = [](double error) { return std::isfinite(error) && error >= 0; };
    core::ensure(
        posterior.error_of_universes.size() == model.parameters.size() &&
            std::ranges::all_of(posterior.error_of_universes, sound),
        core::Fault::format,
        "{} has errors of its means (held_out_error) that are not {} numbers from 0 on: restore it, or fit it "
        "again with cosmo-train --posterior-only.",
        path, model.parameters.size());
  }
  const auto distance = [&](const char* group) -> std::optional<FeatureDistance> {
    if (!file.has(group)) return std::nullopt;
    return FeatureDistance::read(file, path, group);
  };
  posterior.distance_of_universes = distance(kDistanceOfUniverses);
  posterior.distance_of_subvolumes = distance(kDistanceOfSubvolumes);
  return posterior;
}

}  // namespace

std::optional<ModelPosterior> read_posterior(const std::filesystem::path& directory,
                                             const ModelManifest& model) {
  const core::FileRecord* record = model.base.find(kPosteriorFile);
  if (record == nullptr) return std::nullopt;
  return read_posterior_file(directory, *record, predictions_of(model), model);
}

ModelPosterior read_posterior_file(const std::filesystem::path& directory, const core::FileRecord& record,
                                   std::size_t predictions, const ModelManifest& model) {
  return core::read_checked(directory, record, [&](const std::filesystem::path& path) {
    return read_file(path.string(), predictions, model);
  });
}

}  // namespace cosmo::nn
