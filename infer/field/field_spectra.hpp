#pragma once
// How well fields agree, wavenumber by wavenumber.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/fourier/fourier_mesh.hpp"
#include "core/parallel/communicator.hpp"

namespace cosmo::infer {

/// Sums over the modes of a bin, k and -k both counted.
struct SpectrumSums {
  double prediction = 0, truth = 0, cross = 0;  ///< Σ|p|², Σ|t|², Σ Re(p t*)
  std::uint64_t modes = 0;

  void add(const SpectrumSums& other);
  double correlation() const;  ///< r = Σ Re(p t*) / √(Σ|p|² Σ|t|²); NaN without modes or truth
  double transfer() const;     ///< T = √(Σ|p|² / Σ|t|²)
};

/// Those of the bins of FieldSpectra.
using Spectra = std::vector<SpectrumSums>;

/// Measures the modes of fields on the voxels of a periodic box; not copyable.
class FieldSpectra {
 public:
  static constexpr double kBin = 0.02;  ///< width of a bin, in one over the unit of the box

  /// `box`: its side.
  FieldSpectra(int side, double box);
  FieldSpectra(const FieldSpectra&) = delete;
  FieldSpectra& operator=(const FieldSpectra&) = delete;
  /// Bytes that one takes.
  static std::size_t memory_bytes(int side) { return 2 * fourier::FourierMesh::memory_bytes(side, 1); }

  /// The middle of each bin, from 0 to the Nyquist wavenumber; bins may have no modes.
  std::vector<double> bins() const;
  /// Makes the field (side, side, side) the truth of the measurements to come.
  void set_truth(std::span<const float> field);
  /// The sums of a prediction and the truth.
  Spectra of(std::span<const float> prediction);

 private:
  static void transform(fourier::FourierMesh& mesh, std::span<const float> field);

  core::Communicator self_;
  fourier::FourierMesh truth_, prediction_;
};

}  // namespace cosmo::infer
