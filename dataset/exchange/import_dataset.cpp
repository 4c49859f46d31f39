#include "dataset/exchange/import_dataset.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/file/checksum.hpp"
#include "dataset/exchange/imported_shards.hpp"
#include "dataset/shard/target_scaler.hpp"

namespace cosmo::dataset {

using core::ensure;
using core::Fault;

namespace {

Sample sample_of_row(const SampleRow& row) {
  return {
      row.simulation, row.subvolume.value_or(0), row.seed.value_or(0), row.parameters, row.roll, row.shift,
      row.settings};
}

/// The labels that a file of this format has for these parameters.
std::vector<double> labels_in(const ExchangeFormat& format, const core::ParameterSpace& space,
                              const std::vector<double>& physical) {
  if (!format.unit_labels) return physical;
  std::vector<float> unit(physical.size());
  TargetScaler(space).to_unit(physical, unit);
  return {unit.begin(), unit.end()};
}

/// A file of an export that its table lists with this checksum, checked against the manifest; `what` it holds, for messages.
ForeignSample read_listed(const Export& source, const ExchangeFormat& format, const std::string& file,
                          const Quantity& quantity, std::optional<std::uint32_t> crc32, std::string_view what,
                          const std::function<bool(const ForeignSample&)>& agrees) {
  const core::FileRecord* record = source.base.find(file);
  ensure(record != nullptr, Fault::format, "{} names the file {}, which its manifest does not: restore it.",
         (source.directory / kSampleTableName).string(), file);
  ForeignSample sample =
      core::read_checked(source.directory, *record, [&](const std::filesystem::path& path) {
        return format.decode({path, {}, quantity.channels(), quantity.kind});
      });
  ensure(sample.shape == quantity.shape && core::crc32(sample.voxels) == crc32 && agrees(sample),
         Fault::format, "{} holds another {} than its line of {} lists: restore it.",
         (source.directory / file).string(), what, kSampleTableName);
  return sample;
}

/// The voxels of a line of the table, checked against everything that is recorded about them.
std::vector<std::byte> read_voxels(const Export& source, const ExchangeFormat& format, const SampleRow& row) {
  const SampleSpec& spec = source.dataset.spec;
  return read_listed(source, format, row.file, spec.input, row.crc32, "sample",
                     [&](const ForeignSample& sample) {
                       return sample.labels.empty() ||
                              sample.labels == labels_in(format, spec.parameters, row.parameters);
                     })
      .voxels;
}

/// The voxels of its target, likewise.
std::vector<std::byte> read_target(const Export& source, const ExchangeFormat& format, const SampleRow& row) {
  return read_listed(source, format, row.target, *source.dataset.spec.target, row.target_crc32, "target",
                     [](const ForeignSample&) { return true; })
      .voxels;
}

/// The lines of the table by shard, checked against the dataset's shards.
std::map<std::string, std::vector<SampleRow>> rows_by_shard(const Export& source) {
  const std::filesystem::path path = source.directory / kSampleTableName;
  const core::FileRecord* record = source.base.find(kSampleTableName);
  ensure(record != nullptr, Fault::format, "{} is not part of its manifest: restore both.", path.string());
  const SampleTable table = core::read_checked(source.directory, *record, &read_sample_table);
  std::map<std::string, std::vector<SampleRow>> shards;
  for (const SampleRow& row : table.rows) shards[row.shard].push_back(row);
  std::size_t listed = 0;
  for (const SplitRecord& split : source.dataset.splits) {
    std::uint64_t samples = 0;
    for (const std::string& shard : split.shards) samples += shards[shard].size();
    listed += split.shards.size();
    ensure(samples == split.samples, Fault::format,
           "{} has {} samples of a split and the manifest lists {}: restore it.", path.string(), samples,
           split.samples);
  }
  const SampleSpec& spec = source.dataset.spec;
  ensure(shards.size() == listed && table.parameters == spec.parameters.names &&
             table.target == (spec.target ? spec.target->name : "") &&
             std::ranges::equal(table.settings, spec.settings, {}, {}, &SettingColumn::name),
         Fault::format, "{} has other shards or parameters than the manifest: restore it.", path.string());
  return shards;
}

}  // namespace

Export load_export(const std::filesystem::path& directory, const ExchangeFormat& format) {
  Export source{directory, core::load_manifest(directory, "export"), {}};
  const std::string path = (directory / core::kManifestName).string();
  core::reading_json(path, [&] {
    // Earlier versions recorded the format among the command's settings only.
    const core::Json& facts =
        source.base.details.contains("format") ? source.base.details : source.base.request.config;
    const std::string name = facts.at("format"), dialect = facts.value("dialect", "");
    ensure(name == format.name && dialect == format.dialect, Fault::config,
           "{} is an export of --format {}{}: import it as such.", directory.string(), name,
           dialect.empty() ? "" : " --dialect " + dialect);
    source.dataset =
        parse_dataset_manifest(core::parse_manifest(source.base.details.at("dataset"), path, "shard"), path);
  });
  for (const core::FileRecord& file : source.dataset.base.files) {
    ensure(core::is_inside(file.path), Fault::format,
           "{} names the shard '{}' outside the dataset: it is not trusted.", path, file.path);
  }
  return source;
}

core::Request import_request(const Export& source, const std::filesystem::path& target) {
  core::Request request = source.dataset.base.request;
  const auto dataset = (source.directory / source.base.request.inputs.at(0).path).parent_path();
  for (core::InputRecord& input : request.inputs) {
    input.path = core::seen_from(target, dataset / input.path).string();
  }
  return request;
}

void import_dataset(const core::Communicator& comm, const core::Log& log, core::OutputDirectory& output,
                    const Export& source, const ExchangeFormat& format) {
  std::map<std::string, std::vector<SampleRow>> rows;
  comm.agree([&] { rows = rows_by_shard(source); });
  std::vector<ImportedShard> shards;
  for (const auto& shard : rows) {
    const std::vector<SampleRow>& of_shard = shard.second;
    std::vector<Sample> samples;
    std::ranges::transform(of_shard, std::back_inserter(samples), &sample_of_row);
    shards.push_back({shard.first, std::move(samples),
                      [&source, &format, &of_shard](std::size_t row) {
                        return read_voxels(source, format, of_shard[row]);
                      },
                      [&source, &format, &of_shard](std::size_t row) {
                        return read_target(source, format, of_shard[row]);
                      }});
  }
  write_imported(comm, log, output, source.dataset.spec, source.dataset.origin.compression, shards);
}

bool are_identical(const core::Manifest& output, const DatasetManifest& dataset) {
  return std::ranges::all_of(dataset.base.files, [&](const core::FileRecord& file) {
    const core::FileRecord* written = output.find(file.path);
    return written != nullptr && written->sha256 == file.sha256;
  });
}

}  // namespace cosmo::dataset
