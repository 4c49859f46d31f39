#include "infer/field/field_output.hpp"

#include "core/hdf5/hdf5.hpp"
#include "core/version.hpp"
#include "dataset/shard/shard_format.hpp"

namespace cosmo::infer {

namespace {

template <class T>
void write(const std::filesystem::path& path, const PredictedField& field, std::span<const T> values) {
  core::hdf5::File file = core::hdf5::File::create(path);
  const auto n = static_cast<hsize_t>(field.side);
  file.write(field.quantity, {n, n, n}, values);
  file.set_attribute("schema", std::string("cosmo.predicted-field/1"));
  file.set_attribute("quantity", field.quantity);
  file.set_attribute("redshift", field.redshift);
  file.set_attribute(dataset::length_attribute("box", field.box.unit), field.box.value);
  file.set_attribute(dataset::length_attribute("voxel", field.box.unit), field.box.value / field.side);
  file.set_attribute("model", field.model);
  file.set_attribute("code_version", core::version());
  if (field.seed) file.set_attribute("seed", *field.seed);
  if (field.web) {
    file.set_attribute("web_radius", field.web->radius);
    file.set_attribute("web_threshold", field.web->threshold);
  }
  file.close();
}

}  // namespace

void write_predicted_field(const std::filesystem::path& path, const PredictedField& field,
                           std::span<const float> values) {
  write(path, field, values);
}

void write_predicted_field(const std::filesystem::path& path, const PredictedField& field,
                           std::span<const std::uint8_t> classes) {
  write(path, field, classes);
}

}  // namespace cosmo::infer
