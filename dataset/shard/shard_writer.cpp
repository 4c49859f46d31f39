#include "dataset/shard/shard_writer.hpp"

#include <utility>

#include "core/error.hpp"
#include "core/universe/cosmology_attributes.hpp"
#include "core/version.hpp"
#include "dataset/quantity/target.hpp"

namespace cosmo::dataset {

using core::ensure;
using core::Fault;

namespace {

void write_attributes(core::hdf5::File& file, const FieldStatistics& statistics, const std::string& prefix) {
  file.set_attribute(prefix + "minimum", statistics.minimum);
  file.set_attribute(prefix + "maximum", statistics.maximum);
  file.set_attribute(prefix + "mean", statistics.mean);
  file.set_attribute(prefix + "deviation", statistics.deviation);
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
      file_(core::hdf5::File::create(path)) {
  const bool deflated = compression == Compression::gzip;
  input_.emplace(file_, kInputNames, spec.input, samples, deflated);
  if (spec.target) target_.emplace(file_, kTargetNames, *spec.target, samples, deflated);
  if (spec.velocity) velocity_.emplace(file_, kVelocityNames, *spec.velocity, samples, deflated);
}

void ShardWriter::append(const Sample& sample, std::span<const std::uint16_t> counts,
                         const FieldsBeside& beside) {
  append_voxels(sample, counts, beside);
}

void ShardWriter::append(const Sample& sample, std::span<const float> field, const FieldsBeside& beside) {
  append_voxels(sample, field, beside);
  ensure_finite(statistics_.field, sample);
}

void ShardWriter::ensure_finite(const FieldStatistics& statistics, const Sample& sample) const {
  ensure(statistics.is_finite(), Fault::format,
         "Simulation {}, sub-volume {} has voxels that are not finite numbers, for {}: restore its source.",
         sample.simulation, sample.subvolume, path_);
}

template <class T>
void ShardWriter::append_voxels(const Sample& sample, std::span<const T> voxels, const FieldsBeside& beside) {
  const std::size_t row = simulation_.size();
  const std::size_t parameters = scaler_.size();
  ensure(row < samples_ && sample.parameters.size() == parameters &&
             sample.settings.size() == spec_.settings.size() &&
             beside.target.empty() != target_.has_value() && beside.velocity.empty() != velocity_.has_value(),
         Fault::internal, "Sample {} does not fit in a shard of {} samples.", row, samples_);
  input_->append(row, voxels);
  if (target_ && spec_.target->kind == VoxelKind::classes) {
    check_classes(beside.target,
                  fmt::format("Simulation {}, sub-volume {}", sample.simulation, sample.subvolume));
    statistics_.target.count_classes(beside.target);
  }
  const auto append_field = [&](std::optional<TensorWriter>& tensor, std::span<const float> field,
                                FieldStatistics& statistics) {
    if (!tensor) return;
    statistics.add(field);
    ensure_finite(statistics, sample);
    tensor->append(row, field);
  };
  append_field(target_, beside.target, statistics_.target);
  append_field(velocity_, beside.velocity, statistics_.velocity);
  y_.insert(y_.end(), sample.parameters.begin(), sample.parameters.end());
  y_unit_.resize(y_.size());
  scaler_.to_unit(sample.parameters, std::span(y_unit_).last(parameters));
  simulation_.push_back(sample.simulation);
  subvolume_.push_back(sample.subvolume);
  seed_.push_back(sample.seed);
  roll_.push_back(sample.roll);
  shift_.insert(shift_.end(), sample.shift.begin(), sample.shift.end());
  settings_.insert(settings_.end(), sample.settings.begin(), sample.settings.end());
  statistics_.add(voxels);
}

void ShardWriter::write_statistics() {
  if (spec_.input.kind == VoxelKind::field) {
    write_attributes(file_, statistics_.field, "");
  } else {
    file_.set_attribute("mean_count", spec_.mean_count);
    file_.set_attribute("particles", statistics_.counts.particles);
    file_.set_attribute("max_count", statistics_.counts.max_count);
  }
  if (spec_.velocity) write_attributes(file_, statistics_.velocity, "velocity_");
  if (!spec_.target) return;
  file_.set_attribute("target", spec_.target->name);
  write_attributes(file_, statistics_.target, "target_");
  if (spec_.target->kind == VoxelKind::classes)
    file_.set_attribute("target_voxels", std::vector<std::uint64_t>(statistics_.target.web.voxels.begin(),
                                                                    statistics_.target.web.voxels.end()));
}

void ShardWriter::finish() && {
  ensure(simulation_.size() == samples_, Fault::internal, "A shard of {} samples ends after {}.", samples_,
         simulation_.size());
  const auto write = [&]<class T>(const char* name, const core::hdf5::Shape& shape,
                                  const std::vector<T>& values) {
    file_.write(name, shape, std::span<const T>(values));
  };
  const bool labelled = scaler_.size() > 0;
  if (labelled) {
    write("y", {samples_, scaler_.size()}, y_);
    write("y_unit", {samples_, scaler_.size()}, y_unit_);
  }
  input_->write_checksums(file_);
  if (target_) target_->write_checksums(file_);
  if (velocity_) velocity_->write_checksums(file_);
  write("simulation", {samples_}, simulation_);
  write("subvolume", {samples_}, subvolume_);
  write("seed", {samples_}, seed_);
  if (spec_.rolls > 0) {
    write("roll", {samples_}, roll_);
    write("shift", {samples_, 3}, shift_);
  }
  if (!spec_.settings.empty()) write_settings(file_, spec_.settings, settings_);
  file_.set_attribute("schema", std::string(kShardSchema));
  file_.set_attribute("schema_version", spec_.schema_version());
  file_.set_attribute("code_version", core::version());
  file_.set_attribute("input_id", spec_.input_id);
  file_.set_attribute(length_attribute("box", spec_.box_size.unit), spec_.box_size.value);
  file_.set_attribute(length_attribute("voxel", spec_.box_size.unit), spec_.voxel_size().value);
  file_.set_attribute("redshifts", spec_.input.redshifts);
  if (labelled) {
    file_.set_attribute("parameter_names", spec_.parameters.names);
    file_.set_attribute("parameter_low", spec_.parameters.low);
    file_.set_attribute("parameter_high", spec_.parameters.high);
  }
  core::write_line_of_sight(file_, spec_.line_of_sight);
  write_statistics();
  input_.reset();
  target_.reset();
  velocity_.reset();
  file_.close();
}

}  // namespace cosmo::dataset
