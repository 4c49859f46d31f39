#pragma once
// Turns an export back into the dataset that was exported.

#include <filesystem>

#include "core/log.hpp"
#include "core/output/output_directory.hpp"
#include "core/parallel/communicator.hpp"
#include "dataset/exchange/exchange_format.hpp"
#include "dataset/exchange/sample_table.hpp"
#include "dataset/shard/dataset_manifest.hpp"

namespace cosmo::dataset {

/// An export on disk.
struct Export {
  std::filesystem::path directory;
  core::Manifest base;      ///< manifest of the export
  DatasetManifest dataset;  ///< what was exported; its files need not exist
};

/// Reads and checks both manifests. Throws Error{io} or Error{format} naming the file, Error{config} if the
/// export is of another format.
Export load_export(const std::filesystem::path& directory, const ExchangeFormat& format);

/// The request of the exported dataset, for an output at `target`; its id is the same.
core::Request import_request(const Export& source, const std::filesystem::path& target);

/// Writes the shards that `output` does not hold yet, as they were: each file is compared with its sha256,
/// each sample with the crc32 and labels of the table. Ranks share the shards, threads the samples.
/// Collective; errors are the same on every rank.
void import_dataset(const core::Communicator& comm, const core::Log& log, core::OutputDirectory& output,
                    const Export& source, const ExchangeFormat& format);

/// Whether all shards in `output` have the same bytes as the exported ones. Another version of
/// the program or of zlib may have written those differently.
bool are_identical(const core::Manifest& output, const DatasetManifest& dataset);

}  // namespace cosmo::dataset
