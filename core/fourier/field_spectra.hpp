#pragma once
// How well fields agree, wavenumber by wavenumber.

#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/fourier/fourier_mesh.hpp"
#include "core/parallel/communicator.hpp"

namespace cosmo::fourier {

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

/// Which modes are measured: those of wavenumbers below the Nyquist wavenumber, or all but those of Nyquist planes.
enum class Modes { in_sphere, in_cube };

/// The modes of a field (side, side, side), on a mesh of one rank.
void transform(std::span<const float> field, FourierMesh& mesh);

/// Measures the modes of fields on the voxels of a periodic box; not copyable.
class FieldSpectra {
 public:
  static constexpr double kBin = 0.02;  ///< width of a bin, in one over the unit of the box

  /// `box`: its side.
  FieldSpectra(int side, double box, Modes modes = Modes::in_sphere);
  FieldSpectra(const FieldSpectra&) = delete;
  FieldSpectra& operator=(const FieldSpectra&) = delete;
  /// Bytes that one takes.
  static std::size_t memory_bytes(int side) { return 2 * FourierMesh::memory_bytes(side, 1); }

  /// The middle of each bin, from 0 on; bins may have no modes.
  std::vector<double> bins() const;
  /// Makes the field (side, side, side) the truth of the measurements to come.
  void set_truth(std::span<const float> field);
  /// The sums of a prediction and the truth.
  Spectra of(std::span<const float> prediction);

  const FourierMesh& truth() const { return truth_; }
  /// Calls visit(bin, kx, ky, kz, modes, prediction, truth) for each mode with kz >= 0 of the prediction measured last and of the truth;
  /// modes: 2 where it stands for -k, too, else 1.
  template <class F>
  void for_each_mode(F&& visit) const;

 private:
  core::Communicator self_;
  FourierMesh truth_, prediction_;
  Modes modes_;
};

template <class F>
void FieldSpectra::for_each_mode(F&& visit) const {
  const std::size_t bins_there = bins().size();
  const int n = truth_.side(), half = (n - 1) / 2;  // Nyquist modes are left out
  for (int kx = -half; kx <= half; ++kx) {
    for (int ky = -half; ky <= half; ++ky) {
      const std::complex<float>*p = prediction_.mode_row(kx, ky), *t = truth_.mode_row(kx, ky);
      for (int kz = 0; kz <= half; ++kz) {
        const double k = truth_.fundamental() * std::sqrt(kx * kx + ky * ky + kz * kz);
        const auto bin = static_cast<std::size_t>(k / kBin);
        if (bin >= bins_there || k == 0) continue;
        visit(bin, kx, ky, kz, std::uint64_t{kz == 0 ? 1u : 2u}, std::complex<double>(p[kz]),
              std::complex<double>(t[kz]));
      }
    }
  }
}

}  // namespace cosmo::fourier
