#include "dataset/shard/shard_writer.hpp"

#include <type_traits>
#include <utility>

#include "core/error.hpp"
#include "core/file/checksum.hpp"
#include "core/universe/cosmology_attributes.hpp"
#include "core/version.hpp"

namespace cosmo::dataset {

using core::ensure;
using core::Fault;

namespace {

core::hdf5::Dataset create_voxels(core::hdf5::File& file, const SampleSpec& spec, std::size_t samples,
                                  Compression compression) {
  const core::hdf5::Shape shape = spec.stored_shape(samples);
  const core::hdf5::Storage storage{spec.stored_shape(1), compression == Compression::gzip};
  if (spec.kind == VoxelKind::field) return file.create_dataset<float>("x", shape, storage);
  return file.create_dataset<std::uint16_t>("x", shape, storage);
}

}  // namespace

std::string_view name_of(Compression compression) {
  return compression == Compression::gzip ? "gzip" : "none";
}

Compression find_compression(std::string_view name) {
  for (const Compression compression : {Compression::none, Compression::gzip}) {
    if (name_of(compression) == name) return compression;
  }
  core::fail(core::Fault::format, "Shards are not compressed by \"{}\": choose none or gzip.", name);
}

ShardWriter::ShardWriter(const std::filesystem::path& path, const SampleSpec& spec, std::size_t samples,
                         Compression compression)
    : path_(path.string()),
      spec_(spec),
      scaler_(spec.parameters),
      samples_(samples),
      file_(core::hdf5::File::create(path)),
      x_(create_voxels(file_, spec, samples, compression)) {}

void ShardWriter::append(const Sample& sample, std::span<const std::uint16_t> counts) {
  append_voxels(sample, counts);
}

void ShardWriter::append(const Sample& sample, std::span<const float> field) {
  append_voxels(sample, field);
  ensure(statistics_.field.is_finite(), Fault::format,
         "Simulation {}, sub-volume {} has voxels that are not finite numbers, for {}: restore its source.",
         sample.simulation, sample.subvolume, path_);
}

template <class T>
void ShardWriter::append_voxels(const Sample& sample, std::span<const T> voxels) {
  const std::size_t row = simulation_.size();
  const std::size_t parameters = scaler_.size();
  const bool fits = (spec_.kind == VoxelKind::field) == std::is_same_v<T, float>;
  ensure(row < samples_ && sample.parameters.size() == parameters &&
             sample.settings.size() == spec_.settings.size() && fits,
         Fault::internal, "Sample {} does not fit in a shard of {} samples.", row, samples_);
  core::hdf5::Shape start(spec_.shape.size() + 1, 0);
  start[0] = row;
  x_->write(start, spec_.stored_shape(1), voxels);
  y_.insert(y_.end(), sample.parameters.begin(), sample.parameters.end());
  y_unit_.resize(y_.size());
  scaler_.to_unit(sample.parameters, std::span(y_unit_).last(parameters));
  add_checksums(std::as_bytes(voxels));
  simulation_.push_back(sample.simulation);
  subvolume_.push_back(sample.subvolume);
  seed_.push_back(sample.seed);
  roll_.push_back(sample.roll);
  shift_.insert(shift_.end(), sample.shift.begin(), sample.shift.end());
  settings_.insert(settings_.end(), sample.settings.begin(), sample.settings.end());
  statistics_.add(voxels);
}

void ShardWriter::add_checksums(std::span<const std::byte> voxels) {
  const std::size_t plane = voxels.size() / spec_.planes();
  std::uint32_t all = core::crc32({});
  for (std::size_t first = 0; first < voxels.size(); first += plane) {
    plane_crc32_.push_back(core::crc32(voxels.subspan(first, plane)));
    all = core::crc32_joined(all, plane_crc32_.back(), plane);
  }
  crc32_.push_back(all);
}

void ShardWriter::write_statistics() {
  if (spec_.kind == VoxelKind::field) {
    const FieldStatistics& field = statistics_.field;
    file_.set_attribute("minimum", field.minimum);
    file_.set_attribute("maximum", field.maximum);
    file_.set_attribute("mean", field.mean);
    file_.set_attribute("deviation", field.deviation);
  } else {
    file_.set_attribute("mean_count", spec_.mean_count);
    file_.set_attribute("particles", statistics_.counts.particles);
    file_.set_attribute("max_count", statistics_.counts.max_count);
  }
}

void ShardWriter::finish() && {
  ensure(simulation_.size() == samples_, Fault::internal, "A shard of {} samples ends after {}.", samples_,
         simulation_.size());
  const auto write = [&]<class T>(const char* name, const core::hdf5::Shape& shape,
                                  const std::vector<T>& values) {
    file_.write(name, shape, std::span<const T>(values));
  };
  write("y", {samples_, scaler_.size()}, y_);
  write("y_unit", {samples_, scaler_.size()}, y_unit_);
  write("crc32", {samples_}, crc32_);
  write("plane_crc32", spec_.plane_shape(samples_), plane_crc32_);
  write("simulation", {samples_}, simulation_);
  write("subvolume", {samples_}, subvolume_);
  write("seed", {samples_}, seed_);
  if (spec_.rolls > 0) {
    write("roll", {samples_}, roll_);
    write("shift", {samples_, 3}, shift_);
  }
  if (!spec_.settings.empty()) write_settings(file_, spec_.settings, settings_);
  file_.set_attribute("schema", std::string(kShardSchema));
  file_.set_attribute("schema_version", kShardSchemaVersion);
  file_.set_attribute("code_version", core::version());
  file_.set_attribute("input_id", spec_.input_id);
  file_.set_attribute(length_attribute("box", spec_.box_size.unit), spec_.box_size.value);
  file_.set_attribute(length_attribute("voxel", spec_.box_size.unit), spec_.voxel_size().value);
  file_.set_attribute("redshifts", spec_.redshifts);
  file_.set_attribute("parameter_names", spec_.parameters.names);
  file_.set_attribute("parameter_low", spec_.parameters.low);
  file_.set_attribute("parameter_high", spec_.parameters.high);
  core::write_line_of_sight(file_, spec_.line_of_sight);
  write_statistics();
  x_.reset();
  file_.close();
}

}  // namespace cosmo::dataset
