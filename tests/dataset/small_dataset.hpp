#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "dataset/dataset_manifest.hpp"
#include "tests/support/temporary_directory.hpp"

namespace cosmo::dataset::test {

inline constexpr int kSide = 4;

/// Counts (4, 4, 4) that no other sample has.
std::vector<std::uint16_t> counts_of(std::uint32_t sample);

/// Writes `samples` training samples, 5 a shard, and returns the manifest that describes them. Sample i is of
/// simulation i; only training data is there.
DatasetManifest write_dataset(const std::filesystem::path& directory, std::uint32_t samples);

}  // namespace cosmo::dataset::test
