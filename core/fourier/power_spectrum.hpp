#pragma once

#include <vector>

#include "core/fourier/fourier_mesh.hpp"
#include "core/fourier/window.hpp"

namespace cosmo::fourier {

/// What to measure.
struct PowerSpectrumOptions {
  int bins = 0;  ///< number of lowest bins; 0: all up to the Nyquist wavenumber, n/2
  /// |modes|² is divided by W² of this assignment; power aliased by the mesh stays in.
  MassAssignment assignment = MassAssignment::exact;
};

/// A power spectrum in bins of one fundamental wavenumber, bin b centred on (b + 1) 2π/L.
struct PowerSpectrum {
  std::vector<double> k;            ///< mean wavenumber of the bin's modes [h/Mpc]
  std::vector<double> power;        ///< mean of V |modes|² [(Mpc/h)³]
  std::vector<std::int64_t> modes;  ///< number of modes; k and -k both count
};

/// The power spectrum of a density contrast given by its modes. Shot noise is not subtracted. Gives the same
/// bits for any number of ranks and threads; temporarily takes 16 n bins bytes on each rank. Collective.
PowerSpectrum power_spectrum(const FourierMesh& delta, const PowerSpectrumOptions& options = {});

}  // namespace cosmo::fourier
