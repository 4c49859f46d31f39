#include "dataset/shard_writer.hpp"

#include <algorithm>
#include <numeric>
#include <string>

#include "core/checksum.hpp"
#include "core/error.hpp"
#include "core/version.hpp"

namespace cosmo::dataset {

using core::ensure;
using core::Fault;

ShardWriter::ShardWriter(const std::filesystem::path& path, const SampleSpec& spec, std::size_t samples,
                         Compression compression)
    : spec_(spec),
      scaler_(spec.parameters),
      samples_(samples),
      file_(core::hdf5::File::create(path)),
      x_(file_.create_dataset<std::uint16_t>("x", spec.stored_shape(samples),
                                             {spec.stored_shape(1), compression == Compression::gzip})) {}

void ShardWriter::append(const Sample& sample, std::span<const std::uint16_t> counts) {
  const std::size_t row = simulation_.size();
  const std::size_t parameters = scaler_.size();
  ensure(row < samples_ && sample.parameters.size() == parameters, Fault::internal,
         "Sample {} does not fit in a shard of {} samples.", row, samples_);
  core::hdf5::Shape start(spec_.shape.size() + 1, 0);
  start[0] = row;
  x_.write(start, spec_.stored_shape(1), counts);
  y_.insert(y_.end(), sample.parameters.begin(), sample.parameters.end());
  y_unit_.resize(y_.size());
  scaler_.to_unit(sample.parameters, std::span(y_unit_).last(parameters));
  crc32_.push_back(core::crc32(std::as_bytes(counts)));
  simulation_.push_back(sample.simulation);
  subvolume_.push_back(sample.subvolume);
  seed_.push_back(sample.seed);
  statistics_.particles = std::accumulate(counts.begin(), counts.end(), statistics_.particles);
  statistics_.max_count =
      std::max<std::uint64_t>(statistics_.max_count, *std::max_element(counts.begin(), counts.end()));
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
  write("simulation", {samples_}, simulation_);
  write("subvolume", {samples_}, subvolume_);
  write("seed", {samples_}, seed_);
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
  file_.set_attribute("mean_count", spec_.mean_count);
  file_.set_attribute("particles", statistics_.particles);
  file_.set_attribute("max_count", statistics_.max_count);
  file_.flush();
  const ShardWriter closed = std::move(*this);
}

}  // namespace cosmo::dataset
