#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/fourier/power_spectrum.hpp"
#include "core/parallel/communicator.hpp"
#include "dataset/quantity/voxel_transform.hpp"

namespace cosmo::dataset {

/// Bins of a voxel's value. Counts: 0, 1, 2, 3, then two per octave: 4-5, 6-7, 8-11, 12-15, ... Fields: a
/// quarter of a standard deviation wide, from 4 below the mean to 4 above; values beyond are in the first
/// or the last.
inline constexpr std::size_t kValueBins = 32;

/// Summary of one channel of a sample. For a field, a value n is (curve(value) - mean) / deviation over all
/// training samples, as VoxelScale states them for the channel, and log(1 + n) is sign(n) log(1 + |n|).
struct SummaryStatistics {
  double mean = 0;                ///< <n>, the mean over the voxels
  std::vector<double> power;      ///< P(k) of n / <n> - 1 (for a field, of n) [(unit of the box)³]
  std::vector<double> log_power;  ///< P(k) of log(1 + n) [(unit of the box)³]
  std::array<double, kValueBins> distribution{};  ///< share of the voxels in each bin of values
  double skewness = 0;                            ///< m3 / m2^1.5 of central moments; 0 if all are alike
  double kurtosis = 0;                            ///< m4 / m2² - 3; 0 if all are alike
};

/// Sums up samples of one size and kind: the same bits for any number of threads and ranks. A sample is
/// not a periodic box: its P(k) is that of the field times the sample's window, without corrections for the
/// window, the voxels or shot noise, good for comparing samples with each other. Bins of k are one
/// fundamental wavenumber of the sample wide, up to the Nyquist wavenumber.
class SampleSummary {
 public:
  static constexpr int kSmallestSide = 4;  ///< smallest samples that have a P(k)

  /// `sample` is the grid of a channel, its box in the unit of length that P(k) will have. Throws
  /// Error{config} below 4 voxels per side, and for a field whose deviation is 0 in all channels.
  SampleSummary(core::GridSpec sample, const VoxelScale& scale);
  SampleSummary(const SampleSummary&) = delete;
  SampleSummary& operator=(const SampleSummary&) = delete;

  /// Summarises one channel (n, n, n) with all threads of the rank; does not communicate with other ranks. A
  /// channel without a particle has the contrast 0. Throws Error{config} for a field's values outside of the curve's
  /// domain.
  SummaryStatistics of(std::span<const std::uint16_t> counts, std::size_t channel = 0);
  SummaryStatistics of(std::span<const float> field, std::size_t channel = 0);

  /// Mean wavenumber of each bin [1 / unit of the box] and its number of modes.
  const std::vector<double>& k() const { return bins_.k; }
  const std::vector<std::int64_t>& modes() const { return bins_.modes; }

  /// Bytes that a summary of samples with this side takes.
  static std::size_t memory_bytes(int side);

 private:
  template <class Value>
  std::vector<double> spectrum_of(const Value& value);

  core::Communicator self_;
  VoxelScale scale_;
  fourier::FourierMesh mesh_;
  fourier::PowerSpectrum bins_;
  std::vector<std::uint32_t> tally_;  ///< (65536) voxels of each count
  std::vector<float> table_;          ///< (65536) the value of each count
};

}  // namespace cosmo::dataset
