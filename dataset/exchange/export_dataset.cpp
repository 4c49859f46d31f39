#include "dataset/exchange/export_dataset.hpp"

#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/file/byte_file.hpp"
#include "core/parallel/parallel.hpp"
#include "core/parallel/rounds.hpp"
#include "dataset/exchange/sample_table.hpp"
#include "dataset/shard/shard_reader.hpp"

namespace cosmo::dataset {

namespace {

/// "train/shard-00000_00012.npy", for row 12 of train/shard-00000.h5
std::string sample_path(const std::string& shard, std::size_t row, const ExchangeFormat& format) {
  return fmt::format("{}_{:05}{}", std::filesystem::path(shard).replace_extension().string(), row,
                     format.suffix);
}

/// "train/shard-00000_00012_initial.npy"
std::string target_path(const std::string& shard, std::size_t row, const ExchangeFormat& format,
                        const Quantity& target) {
  return fmt::format("{}_{:05}_{}{}", std::filesystem::path(shard).replace_extension().string(), row,
                     target.name, format.suffix);
}

/// A shard open for reading by threads: HDF5 serves one at a time.
class SharedShard {
 public:
  SharedShard(const std::filesystem::path& path, const SampleSpec& spec) : path_(path), reader_(path, spec) {
    for (std::size_t row = 0; row < reader_.size(); ++row) stored_.push_back(reader_.tensor().stored(row));
  }
  const ShardReader& reader() const { return reader_; }

  /// Fills all bytes of the sample.
  void read(std::size_t row, core::hdf5::ChunkReader& chunks, std::span<std::byte> voxels) {
    if (stored_[row]) {
      return check_voxels(path_, row, stored_[row]->crc32, chunks.read(path_, stored_[row]->chunk, voxels));
    }
    const std::lock_guard lock(mutex_);
    reader_.tensor().read(row, voxels);
  }
  /// The same of its target.
  void read_target(std::size_t row, std::span<std::byte> voxels) {
    const std::lock_guard lock(mutex_);
    reader_.tensor(Tensor::target).read(row, voxels);
  }

 private:
  std::filesystem::path path_;
  ShardReader reader_;
  std::vector<std::optional<StoredVoxels>> stored_;
  std::mutex mutex_;
};

/// Exports shard by shard on one rank.
class Exporter {
 public:
  Exporter(core::OutputDirectory& output, const DatasetManifest& dataset, const ExchangeFormat& format)
      : output_(output),
        spec_(dataset.spec),
        format_(format),
        threads_(static_cast<std::size_t>(core::thread_count())) {
    for (const core::FileRecord& file : output.manifest().files) there_.insert(file.path);
  }

  /// Writes the shard's samples that are missing; returns all of its lines of the table.
  std::string export_shard(const std::filesystem::path& directory, const std::string& path, Split split,
                           Written& written) {
    SharedShard shard(directory / path, spec_);
    std::string lines;
    std::vector<std::size_t> missing;
    for (std::size_t row = 0; row < shard.reader().size(); ++row) {
      const std::string file = sample_path(path, row, format_);
      std::optional<TargetFile> target;
      if (spec_.target)
        target = {target_path(path, row, format_, *spec_.target),
                  shard.reader().tensor(Tensor::target).crc32(row)};
      lines += sample_table_line(file, split, path, shard.reader().sample(row),
                                 shard.reader().tensor().crc32(row), target);
      if (!there_.contains(file) || (target && !there_.contains(target->file))) missing.push_back(row);
    }
    // Creates the folder. Leftovers of a killed run are overwritten.
    if (!missing.empty()) (void)output_.part(sample_path(path, missing.front(), format_));
    std::vector<core::FileRecord> records(missing.size()), targets(spec_.target ? missing.size() : 0);
    core::in_threads(missing.size(), [&](std::size_t i, std::size_t thread) {
      records[i] = export_sample(shard, path, missing[i], threads_[thread]);
      if (spec_.target) targets[i] = export_target(shard, path, missing[i], threads_[thread]);
    });
    written.samples += records.size();
    records.insert(records.end(), targets.begin(), targets.end());
    for (const core::FileRecord& record : records) written.bytes += record.bytes;
    finished_.insert(finished_.end(), records.begin(), records.end());
    return lines;
  }

  /// Notes what was written since the last call. Collective.
  void record() { output_.record(std::exchange(finished_, {})); }

 private:
  struct Thread {
    core::hdf5::ChunkReader chunks;
    std::vector<std::byte> voxels;
  };

  core::FileRecord export_sample(SharedShard& shard, const std::string& path, std::size_t row,
                                 Thread& thread) {
    thread.voxels.resize(spec_.input.bytes());
    shard.read(row, thread.chunks, thread.voxels);
    const std::string file = sample_path(path, row, format_);
    core::write_bytes(output_.part_path(file),
                      format_.encode({spec_.input.kind, thread.voxels, spec_.input.shape,
                                      shard.reader().sample(row).parameters, shard.reader().labels(row)}));
    return output_.seal(file);
  }

  core::FileRecord export_target(SharedShard& shard, const std::string& path, std::size_t row,
                                 Thread& thread) {
    const Quantity& target = *spec_.target;
    thread.voxels.resize(target.bytes());
    shard.read_target(row, thread.voxels);
    const std::string file = target_path(path, row, format_, target);
    core::write_bytes(output_.part_path(file),
                      format_.encode({target.kind, thread.voxels, target.shape, {}, {}}));
    return output_.seal(file);
  }

  core::OutputDirectory& output_;
  const SampleSpec& spec_;
  const ExchangeFormat& format_;
  std::vector<Thread> threads_;
  std::set<std::string> there_;
  std::vector<core::FileRecord> finished_;
};

/// The numbered texts of all ranks, on every rank.
std::map<std::size_t, std::string> gather(const core::Communicator& comm,
                                          const std::map<std::size_t, std::string>& mine) {
  std::map<std::size_t, std::string> all;
  for (const std::string& text : comm.gather(core::Json(mine).dump())) {
    all.merge(core::Json::parse(text).get<std::map<std::size_t, std::string>>());
  }
  return all;
}

/// What versions before 0.1.0 recorded, which had the format among the settings only.
core::Json without_format(core::Json details) {
  details.erase("format");
  details.erase("dialect");
  return details;
}

}  // namespace

core::Request export_request(const std::filesystem::path& directory, const DatasetManifest& dataset,
                             const ExchangeFormat& format, const std::filesystem::path& target) {
  core::Json config = {{"format", format.name}};
  if (!format.dialect.empty()) config["dialect"] = format.dialect;
  const core::Json details = {{"format", format.name},
                              {"dialect", format.dialect},
                              {"samples", dataset.samples()},
                              {"table", kSampleTableName},
                              {"dataset", core::reread_manifest(directory, dataset.base)}};
  return {.stage = "export",
          .config = config,
          .inputs = {core::input_record(directory, dataset.base, target)},
          .foreseen = core::Foreseen{{}, details, {&without_format}},
          .check = [](const core::Manifest& manifest) {
            core::ensure(manifest.files.size() > 1 && manifest.find(kSampleTableName) != nullptr,
                         core::Fault::format, "The export's manifest lists no {} and samples.",
                         kSampleTableName);
          }};
}

double export_bytes(const DatasetManifest& dataset, const ExchangeFormat& format) {
  return static_cast<double>(dataset.samples()) *
         static_cast<double>(voxel_bytes(format, dataset.spec.input.kind) * dataset.spec.input.voxels() +
                             (dataset.spec.target ? dataset.spec.target->bytes() : 0));
}

void export_dataset(const core::Communicator& comm, const core::Log& log, core::OutputDirectory& output,
                    const std::filesystem::path& directory, const DatasetManifest& dataset,
                    const ExchangeFormat& format, Written& written) {
  std::vector<std::pair<std::string, Split>> shards;
  for (const Split split : {Split::train, Split::validation, Split::test}) {
    for (const std::string& path : dataset.split(split).shards) shards.emplace_back(path, split);
  }
  core::Progress progress(log, "shards exported", static_cast<std::int64_t>(shards.size()));
  Exporter exporter(output, dataset, format);
  std::map<std::size_t, std::string> lines;
  core::in_rounds(
      comm, shards.size(),
      [&](std::size_t s) {
        const auto& [shard, split] = shards[s];
        lines[s] = core::read_checked(directory, *dataset.base.find(shard), [&](const auto&) {
          return exporter.export_shard(directory, shard, split, written);
        });
      },
      [&](std::size_t items) {
        exporter.record();
        progress.advance(static_cast<std::int64_t>(items));
      });
  std::string table = sample_table_header(dataset.spec);
  for (const auto& [shard, text] : gather(comm, lines)) table += text;
  output.add_text(kSampleTableName, table);
}

}  // namespace cosmo::dataset
