#pragma once
// Summary statistics of the samples of a split, which baselines and forecasts are made from.

#include <Eigen/Core>
#include <limits>
#include <vector>

#include "core/log.hpp"
#include "core/parallel/communicator.hpp"
#include "dataset/load/split_reader.hpp"
#include "dataset/measure/summary_statistics.hpp"

namespace cosmo::dataset {

/// A sample and the statistics of its channels (C).
struct SampleStatistics {
  Sample sample;
  std::vector<SummaryStatistics> channels;
};

/// Statistics of samples that have the bins of k in common.
struct StatisticsTable {
  std::vector<SampleStatistics> rows;
  std::vector<double> k;            ///< (bins) [1 / unit]
  std::vector<std::int64_t> modes;  ///< (bins)
  core::LengthUnit unit;            ///< unit of the box
};

/// The samples to summarise: those of the first `most` universes of a split, or of all.
std::vector<std::uint32_t> samples_of_first_universes(
    const SplitReader& reader, std::size_t most = std::numeric_limits<std::size_t>::max());

/// What summarise() reads.
struct SamplesToSummarise {
  SplitReader& reader;
  VoxelScale scale;
  std::vector<std::uint32_t> samples;  ///< their numbers in the split
};

/// Reads and summarises samples, shared among the ranks; every rank gets the whole table, the same bits for
/// any number of ranks and threads. Keeps no voxels. Collective over comm.
StatisticsTable summarise(const core::Communicator& comm, const core::Log& log,
                          const SamplesToSummarise& source);

/// Bytes, approximately, that summarise() of `samples` samples and a regression on them take.
std::size_t summary_bytes(const SampleSpec& spec, std::uint64_t samples);

/// First bins of groups of neighbouring bins that each end at most `ratio` times higher than they begin, or
/// hold one bin; ends with `bins`.
std::vector<std::size_t> group_bins(std::size_t bins, double ratio);

/// log P(k) of every row and channel (rows, C groups): the mean over all modes of a group of bins. Power
/// below 1e-9 counts as 1e-9, so that the logarithm is finite.
Eigen::MatrixXd log_power(const StatisticsTable& table, const std::vector<std::size_t>& groups,
                          std::vector<double> SummaryStatistics::*spectrum);

/// Every row's parameters in label units (rows, P): the ranges are mapped to [-1, 1].
Eigen::MatrixXd labels_of(const StatisticsTable& table, const core::ParameterSpace& space);

/// Rows that stand for one universe, or for one roll of it.
struct UniverseRows {
  std::uint32_t simulation;
  int roll;
  std::vector<Eigen::Index> rows;
};

/// The rows of each universe and roll, in the order of their first appearance.
std::vector<UniverseRows> universes_of(const StatisticsTable& table);

/// The mean of the rows of each universe (universes, columns).
Eigen::MatrixXd mean_rows(const Eigen::MatrixXd& values, const std::vector<UniverseRows>& universes);

}  // namespace cosmo::dataset
