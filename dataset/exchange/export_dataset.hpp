#pragma once
// A dataset in the files of another format, and back.
//
//   manifest.json     stage "export": config {format, dialect}; dataset: the manifest.json of the dataset
//   samples.csv       what the files cannot hold, one line per sample in the dataset's order
//   train/shard-00000_00000.npy, …     one file per sample: row 0 of train/shard-00000.h5

#include <cstdint>
#include <filesystem>
#include <string>

#include "core/format/json.hpp"
#include "core/log.hpp"
#include "core/output/output_directory.hpp"
#include "core/parallel/communicator.hpp"
#include "dataset/exchange/exchange_format.hpp"
#include "dataset/shard/dataset_manifest.hpp"

namespace cosmo::dataset {

/// What this run wrote, in addition to what was already there.
struct Written {
  std::uint64_t samples = 0;
  std::uint64_t bytes = 0;  ///< total size of their files
};

/// The request to export this dataset, which is in `directory`, to `target` in this format.
core::Request export_request(const std::filesystem::path& directory, const DatasetManifest& dataset,
                             const ExchangeFormat& format, const std::filesystem::path& target);

/// Bytes of all samples in this format, before compression.
double export_bytes(const DatasetManifest& dataset, const ExchangeFormat& format);

/// Writes the samples that `output` does not hold yet, and the table. Ranks share the shards, threads the
/// samples of a shard; shards are compared with their sha256 and samples with their crc32. `written` is this
/// rank's. Collective; errors are the same on every rank.
void export_dataset(const core::Communicator& comm, const core::Log& log, core::OutputDirectory& output,
                    const std::filesystem::path& directory, const DatasetManifest& dataset,
                    const ExchangeFormat& format, Written& written);

}  // namespace cosmo::dataset
