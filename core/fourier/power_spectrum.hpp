#pragma once

#include <vector>

#include "core/fourier/fourier_mesh.hpp"

namespace cosmo::fourier {

/// A power spectrum in bins of one fundamental wavenumber, bin b centred on (b + 1) 2π/L.
struct PowerSpectrum {
  std::vector<double> k;            ///< mean wavenumber of the bin's modes [h/Mpc]
  std::vector<double> power;        ///< mean of V |modes|² [(Mpc/h)³]
  std::vector<std::int64_t> modes;  ///< how many modes, k and -k counted both
};

/// The power spectrum of a density contrast given by its modes, up to the mesh's Nyquist wavenumber. No
/// correction for mass assignment or shot noise. Threads and ranks change it by rounding only (1e-15).
/// Collective.
PowerSpectrum power_spectrum(const FourierMesh& delta);

}  // namespace cosmo::fourier
