#include "dataset/shard/shard_reader.hpp"

#include <algorithm>
#include <cstddef>

#include "core/error.hpp"
#include "core/universe/cosmology_attributes.hpp"
#include "dataset/shard/target_scaler.hpp"

namespace cosmo::dataset {

using core::ensure;
using core::Fault;

ShardReader::ShardReader(const std::filesystem::path& path, const SampleSpec& spec)
    : path_(path), file_(core::hdf5::File::open(path)) {
  check_attributes(spec);
  input_.emplace(path, file_, kInputNames, spec.input);
  const std::size_t size = input_->size();
  input_->read_checksums(file_, version() > 1);
  const auto open_beside = [&](std::optional<TensorReader>& tensor, const TensorNames& names,
                               const std::optional<Quantity>& quantity) {
    if (!quantity) return;
    tensor.emplace(path, file_, names, *quantity);
    ensure(tensor->size() == size, Fault::format, "{} has {} samples in /x and {} in /{}: restore the file.",
           path_.string(), size, tensor->size(), names.voxels);
    tensor->read_checksums(file_, true);
  };
  open_beside(target_, kTargetNames, spec.target);
  open_beside(velocity_, kVelocityNames, spec.velocity);
  const std::size_t parameters = spec.parameters.size();
  std::vector<double> y;
  if (parameters > 0) {
    y = file_.read<double>("y", {size, parameters});
    y_unit_ = file_.read<float>("y_unit", {size, parameters});
  }
  const auto simulation = file_.read<std::uint32_t>("simulation", {size});
  const auto subvolume = file_.read<std::uint8_t>("subvolume", {size});
  const auto seed = file_.read<std::uint64_t>("seed", {size});
  for (std::size_t row = 0; row < size; ++row) {
    const double* values = y.data() + row * parameters;
    samples_.push_back({simulation[row], subvolume[row], seed[row], {values, values + parameters}});
  }
  if (spec.rolls > 0) read_rolls(spec);
  if (!spec.settings.empty()) {
    const std::size_t width = spec.settings.size();
    const std::vector<double> settings = read_settings(file_, spec.settings, size, path_.string());
    for (std::size_t row = 0; row < size; ++row)
      samples_[row].settings.assign(&settings[row * width], &settings[row * width] + width);
  }
  statistics_ = read_statistics(spec);
  check_labels(spec);
}

void ShardReader::read_rolls(const SampleSpec& spec) {
  const auto roll = file_.read<std::uint16_t>("roll", {size()});
  const auto shift = file_.read<std::uint16_t>("shift", {size(), 3});
  for (std::size_t row = 0; row < size(); ++row) {
    samples_[row].roll = roll[row];
    std::copy_n(shift.begin() + static_cast<std::ptrdiff_t>(3 * row), 3, samples_[row].shift.begin());
    ensure(roll[row] <= spec.rolls && (roll[row] > 0 || samples_[row].shift == Sample{}.shift), Fault::format,
           "{} sample {} is of roll {} by {}, which the dataset does not have: restore the file.",
           path_.string(), row, roll[row], fmt::join(samples_[row].shift, ", "));
  }
}

FieldStatistics ShardReader::read_field(const Quantity& quantity, const std::string& prefix) const {
  const auto stated = [&](const char* name) { return file_.number_attribute(prefix + name); };
  return {input_->size() * quantity.voxels(), stated("minimum"), stated("maximum"), stated("mean"),
          stated("deviation")};
}

VoxelStatistics ShardReader::read_statistics(const SampleSpec& spec) const {
  VoxelStatistics stated;
  if (spec.input.kind == VoxelKind::field)
    stated.field = read_field(spec.input, "");
  else
    stated.counts = {file_.integer_attribute("particles"), file_.integer_attribute("max_count")};
  if (spec.velocity) stated.velocity = read_field(*spec.velocity, "velocity_");
  if (!spec.target) return stated;
  stated.target = read_field(*spec.target, "target_");
  if (spec.target->kind == VoxelKind::classes) {
    const std::vector<std::uint64_t> voxels = file_.integers_attribute("target_voxels");
    ensure(voxels.size() == stated.target.web.voxels.size(), Fault::format,
           "{} states voxels of {} classes, not {}: restore the file.", path_.string(), voxels.size(),
           stated.target.web.voxels.size());
    std::ranges::copy(voxels, stated.target.web.voxels.begin());
  }
  return stated;
}

std::uint64_t ShardReader::version() const { return file_.integer_attribute("schema_version"); }

void ShardReader::check_attributes(const SampleSpec& spec) const {
  ensure(
      file_.text_attribute("schema") == kShardSchema && version() >= 1 && version() <= kVelocitySchemaVersion,
      Fault::format, "{} has schema {} {}: this version reads {} 1 to {}.", path_.string(),
      file_.text_attribute("schema"), version(), kShardSchema, kVelocitySchemaVersion);
  const auto agrees = [&](bool equal, std::string_view attribute) {
    ensure(equal, Fault::format,
           "{} has another {} than its manifest: it belongs to another dataset, restore it.", path_.string(),
           attribute);
  };
  agrees(std::max(version(), kShardSchemaVersion) == spec.schema_version(), "schema_version");
  agrees(!spec.target || file_.text_attribute("target") == spec.target->name, "target");
  agrees(file_.text_attribute("input_id") == spec.input_id, "input_id");
  if (spec.parameters.size() > 0) {
    agrees(file_.texts_attribute("parameter_names") == spec.parameters.names, "parameter_names");
    agrees(file_.numbers_attribute("parameter_low") == spec.parameters.low, "parameter_low");
    agrees(file_.numbers_attribute("parameter_high") == spec.parameters.high, "parameter_high");
  }
  agrees(file_.numbers_attribute("redshifts") == spec.input.redshifts, "redshifts");
  agrees(core::read_line_of_sight(file_) == spec.line_of_sight, core::kLineOfSightKey);
  const std::string box = length_attribute("box", spec.box_size.unit);
  const std::string voxel = length_attribute("voxel", spec.box_size.unit);
  agrees(file_.number_attribute(box) == spec.box_size.value, box);
  agrees(file_.number_attribute(voxel) == spec.voxel_size().value, voxel);
  if (spec.input.kind == VoxelKind::counts) {
    agrees(file_.number_attribute("mean_count") == spec.mean_count, "mean_count");
  }
}

void ShardReader::check_labels(const SampleSpec& spec) const {
  const TargetScaler scaler(spec.parameters);
  std::vector<float> unit(scaler.size());
  for (std::size_t row = 0; row < size(); ++row) {
    const std::vector<double>& physical = samples_[row].parameters;
    scaler.to_unit(physical, unit);
    for (std::size_t p = 0; p < scaler.size(); ++p) {
      ensure(physical[p] >= spec.parameters.low[p] && physical[p] <= spec.parameters.high[p], Fault::format,
             "{} sample {} has {} = {} outside its range: restore the file.", path_.string(), row,
             spec.parameters.names[p], physical[p]);
      ensure(unit[p] == labels(row)[p], Fault::format,
             "{} sample {} has a /y_unit that does not follow from its /y: restore the file.", path_.string(),
             row);
    }
  }
}

std::span<const float> ShardReader::labels(std::size_t row) const {
  const std::size_t parameters = y_unit_.size() / size();
  return std::span(y_unit_).subspan(row * parameters, parameters);
}

}  // namespace cosmo::dataset
