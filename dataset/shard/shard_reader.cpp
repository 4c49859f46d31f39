#include "dataset/shard/shard_reader.hpp"

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include "core/error.hpp"
#include "core/file/checksum.hpp"
#include "core/universe/cosmology_attributes.hpp"
#include "dataset/shard/target_scaler.hpp"

namespace cosmo::dataset {

using core::ensure;
using core::Fault;

void check_voxels(const std::filesystem::path& shard, std::size_t row, std::uint32_t noted,
                  std::uint32_t found) {
  ensure(found == noted, Fault::format,
         "{} sample {} differs from its crc32: the file is damaged, restore it or run cosmo-prep again "
         "with --force.",
         shard.string(), row);
}

ShardReader::ShardReader(const std::filesystem::path& path, const SampleSpec& spec)
    : path_(path),
      file_(core::hdf5::File::open(path)),
      x_(file_.dataset("x")),
      sample_shape_(spec.stored_shape(1)),
      kind_(spec.kind) {
  check_attributes(spec);
  const std::size_t size = x_.shape().empty() ? 0 : x_.shape().front();
  constexpr std::size_t kMostSamples = 1 << 20;
  ensure(size > 0 && size <= kMostSamples, Fault::format, "{} has {} samples: restore the file.",
         path_.string(), size);
  if (spec.kind == VoxelKind::field) {
    x_.require<float>(spec.stored_shape(size));
  } else {
    x_.require<std::uint16_t>(spec.stored_shape(size));
  }
  const std::size_t parameters = spec.parameters.size();
  const auto y = file_.read<double>("y", {size, parameters});
  y_unit_ = file_.read<float>("y_unit", {size, parameters});
  crc32_ = file_.read<std::uint32_t>("crc32", {size});
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
  if (version() > 1) read_planes(spec);
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

VoxelStatistics ShardReader::read_statistics(const SampleSpec& spec) const {
  VoxelStatistics statistics;
  if (spec.kind == VoxelKind::field) {
    statistics.field = {size() * spec.voxels(), file_.number_attribute("minimum"),
                        file_.number_attribute("maximum"), file_.number_attribute("mean"),
                        file_.number_attribute("deviation")};
  } else {
    statistics.counts = {file_.integer_attribute("particles"), file_.integer_attribute("max_count")};
  }
  return statistics;
}

std::uint64_t ShardReader::version() const { return file_.integer_attribute("schema_version"); }

void ShardReader::check_attributes(const SampleSpec& spec) const {
  ensure(file_.text_attribute("schema") == kShardSchema && version() >= 1 && version() <= kShardSchemaVersion,
         Fault::format, "{} has schema {} {}: this version reads {} 1 to {}.", path_.string(),
         file_.text_attribute("schema"), version(), kShardSchema, kShardSchemaVersion);
  const auto agrees = [&](bool equal, std::string_view attribute) {
    ensure(equal, Fault::format,
           "{} has another {} than its manifest: it belongs to another dataset, restore it.", path_.string(),
           attribute);
  };
  agrees(file_.text_attribute("input_id") == spec.input_id, "input_id");
  agrees(file_.texts_attribute("parameter_names") == spec.parameters.names, "parameter_names");
  agrees(file_.numbers_attribute("parameter_low") == spec.parameters.low, "parameter_low");
  agrees(file_.numbers_attribute("parameter_high") == spec.parameters.high, "parameter_high");
  agrees(file_.numbers_attribute("redshifts") == spec.redshifts, "redshifts");
  agrees(core::read_line_of_sight(file_) == spec.line_of_sight, core::kLineOfSightKey);
  const std::string box = length_attribute("box", spec.box_size.unit);
  const std::string voxel = length_attribute("voxel", spec.box_size.unit);
  agrees(file_.number_attribute(box) == spec.box_size.value, box);
  agrees(file_.number_attribute(voxel) == spec.voxel_size().value, voxel);
  if (spec.kind == VoxelKind::counts) {
    agrees(file_.number_attribute("mean_count") == spec.mean_count, "mean_count");
  }
}

void ShardReader::read_planes(const SampleSpec& spec) {
  plane_crc32_ = file_.read<std::uint32_t>("plane_crc32", spec.plane_shape(size()));
  const std::size_t bytes = spec.bytes() / spec.planes();
  for (std::size_t row = 0; row < size(); ++row) {
    std::uint32_t all = core::crc32({});
    for (const std::uint32_t plane : plane_crc32(row)) all = core::crc32_joined(all, plane, bytes);
    ensure(all == crc32_[row], Fault::format,
           "{} sample {} has checksums of planes that are not those of its crc32: restore the file.",
           path_.string(), row);
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
      ensure(unit[p] == target(row)[p], Fault::format,
             "{} sample {} has a /y_unit that does not follow from its /y: restore the file.", path_.string(),
             row);
    }
  }
}

std::span<const float> ShardReader::target(std::size_t row) const {
  const std::size_t parameters = y_unit_.size() / size();
  return std::span(y_unit_).subspan(row * parameters, parameters);
}

std::span<const std::uint32_t> ShardReader::plane_crc32(std::size_t row) const {
  const std::size_t planes = plane_crc32_.size() / size();
  return std::span(plane_crc32_).subspan(row * planes, planes);
}

core::hdf5::Shape ShardReader::start_of(std::size_t row) const {
  core::hdf5::Shape start(sample_shape_.size(), 0);
  start[0] = row;
  return start;
}

void ShardReader::read(std::size_t row, std::span<std::uint16_t> counts) const { read_voxels(row, counts); }
void ShardReader::read(std::size_t row, std::span<float> field) const { read_voxels(row, field); }

void ShardReader::read(std::size_t row, std::span<std::byte> voxels) const {
  const auto as = [&]<class T>(T* values) { read_voxels(row, std::span(values, voxels.size() / sizeof(T))); };
  if (kind_ == VoxelKind::field) return as(reinterpret_cast<float*>(voxels.data()));
  as(reinterpret_cast<std::uint16_t*>(voxels.data()));
}

template <class T>
void ShardReader::read_voxels(std::size_t row, std::span<T> voxels) const {
  const bool fits = (kind_ == VoxelKind::field) == std::is_same_v<T, float>;  // HDF5 would convert
  ensure(fits, Fault::internal, "{} holds another kind of voxels than is read.", path_.string());
  x_.read(start_of(row), sample_shape_, voxels);
  check_voxels(path_, row, crc32_[row], core::crc32(std::as_bytes(voxels)));
}

std::optional<StoredVoxels> ShardReader::stored(std::size_t row) const {
  const auto chunk = x_.chunk(start_of(row), sample_shape_);
  return chunk ? std::optional(StoredVoxels{*chunk, crc32_[row]}) : std::nullopt;
}

}  // namespace cosmo::dataset
