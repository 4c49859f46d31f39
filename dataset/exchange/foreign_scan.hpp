#pragma once
// A first look at the files of other programs, before anything is written.

#include <array>
#include <cstdint>
#include <set>
#include <vector>

#include "core/log.hpp"
#include "core/parallel/communicator.hpp"
#include "dataset/exchange/exchange_format.hpp"
#include "dataset/exchange/foreign_samples.hpp"
#include "dataset/exchange/sample_table.hpp"
#include "dataset/quantity/voxel_statistics.hpp"
#include "dataset/shard/channel_record.hpp"

namespace cosmo::dataset {

/// What was found in a sample.
struct Scan {
  std::uint64_t row;     ///< row of the table
  std::uint64_t labels;  ///< number of labels
  int side;
  std::uint32_t crc32;
  VoxelStatistics voxels;
  std::array<char, 64> sha256;  ///< digest of the voxels
  std::uint32_t target_crc32 = 0;
  std::array<char, 64> target_sha256 = {};  ///< digest of the target's voxels, if there is one
  float target_correlation = 0;  ///< correlation of its first channel with its target, in coarse cells
};

struct Scans {
  std::vector<Scan> scans;                               ///< by row
  std::vector<std::vector<double>> labels;               ///< by row; as the files hold them
  std::vector<std::vector<ChannelStatistics>> channels;  ///< by row; of fields
};

/// Location of a row's sample.
ForeignFile file_of(const ForeignSettings& settings, const SampleRow& row);
/// Location of its target.
ForeignFile target_of(const ForeignSettings& settings, VoxelKind kind, const SampleRow& row);

/// Reads every sample once. The ranks share them. Collective. Throws as ExchangeFormat::decode.
Scans scan_all(const core::Communicator& comm, const core::Log& log, const ForeignSettings& settings,
               const ExchangeFormat& format, const SampleTable& table);

/// What a manifest states of each channel of a field, whose training samples are these rows: summed in the order of the
/// table.
std::vector<ChannelRecord> channels_of(const SampleTable& table, const Scans& found,
                                       const std::set<std::size_t>& training);

}  // namespace cosmo::dataset
