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

/// Publishes files of `output`: write(i, part) makes the i-th of the paths. The ranks share them, each syncs
/// and hashes a file while it writes the next one, and `progress` counts them. Collective over comm. An error
/// on one rank is thrown on all of them; files that are finished stay recorded.
void publish_shards(const core::Communicator& comm, core::Progress& progress, core::OutputDirectory& output,
                    std::span<const std::string> paths,
                    const std::function<void(std::size_t, const std::filesystem::path&)>& write);

}  // namespace cosmo::dataset
