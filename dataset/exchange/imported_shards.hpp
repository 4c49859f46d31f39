#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/log.hpp"
#include "core/output/output_directory.hpp"
#include "core/parallel/communicator.hpp"
#include "dataset/shard/shard_writer.hpp"

namespace cosmo::dataset {

/// A shard whose samples are in files of another format.
struct ImportedShard {
  std::string path;
  std::vector<Sample> samples;
  /// The voxels of a sample, as a shard of the spec's kind holds them; called by several threads.
  std::function<std::vector<std::byte>(std::size_t row)> read;
  /// Those of its target, if the spec has one; likewise.
  std::function<std::vector<std::byte>(std::size_t row)> read_target = {};
};

/// Writes the shards that `output` does not hold yet: ranks share them, threads read the samples of one.
/// Collective; errors are the same on every rank.
void write_imported(const core::Communicator& comm, const core::Log& log, core::OutputDirectory& output,
                    const SampleSpec& spec, Compression compression, std::span<const ImportedShard> shards);

}  // namespace cosmo::dataset
