#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string>

#include "core/log.hpp"
#include "core/output/output_directory.hpp"
#include "core/parallel/communicator.hpp"

namespace cosmo::dataset {

/// Makes one of the files to publish: write(i, part) the i-th of the paths.
using WriteFile = std::function<void(std::size_t, const std::filesystem::path&)>;

/// Publishes files of `output`. The ranks share them, each syncs and hashes a file while it writes the next one, and
/// `progress` counts them. Collective over comm. An error on one rank is thrown on all of them; files that are finished
/// stay recorded.
void publish_shards(const core::Communicator& comm, core::Progress& progress, core::OutputDirectory& output,
                    std::span<const std::string> paths, const WriteFile& write);
/// The same of groups of consecutive ranks, all of one size: `write` is called by all of this rank's `group`, which agree
/// on its errors and whose root writes the file.
void publish_shards(const core::Communicator& comm, const core::Communicator& group, core::Progress& progress,
                    core::OutputDirectory& output, std::span<const std::string> paths,
                    const WriteFile& write);

}  // namespace cosmo::dataset
