#pragma once

#include <cstdint>

#include "core/fourier/fourier_mesh.hpp"
#include "sim/linear/linear_power.hpp"
#include "sim/linear/noise_file.hpp"

namespace cosmo::sim {

/// The modulus of a mode's white noise: random (Gaussian), or its expected value (the phase stays random).
enum class Amplitude { random, fixed };

/// Whether a field is the seed's own or its partner, all of whose modes have the opposite sign. Source:
/// Angulo & Pontzen 2016 (arXiv:1603.05253).
enum class Partner { none, flipped };

/// Fills `delta` with modes of a Gaussian field of spectrum `power` today: w sqrt(P/V) with <|w|²> = 1.
///
/// w is a pure function of the seed and the signed (kx, ky, kz >= 0): ranks and threads do not change it, and
/// a larger mesh on the same box keeps the modes below the smaller mesh's Nyquist wavenumber. Where a pair ±k
/// is stored twice (kz = 0 or Nyquist), one mode is drawn and the other is its conjugate; a mode that is its
/// own conjugate is real; k = 0 is 0. A flipped field is exactly the negative of the other.
void gaussian_field(fourier::FourierMesh& delta, const LinearPower& power, std::uint64_t seed,
                    Amplitude amplitude = Amplitude::random, Partner partner = Partner::none);

/// The same with the white noise of a file, whose side is the mesh's: that of
/// white_noise(seed) gives the field of the seed to rounding, 1e-6 of a mode's rms. Collective. Throws as
/// read_noise().
void gaussian_field(fourier::FourierMesh& delta, const LinearPower& power, const NoiseFile& noise,
                    Amplitude amplitude = Amplitude::random, Partner partner = Partner::none);

/// Fills `noise` with the modes w/sqrt(N³) for the w of gaussian_field(seed).
void white_modes(fourier::FourierMesh& noise, std::uint64_t seed);

/// Fills `noise` with the real field whose modes are w/sqrt(N³) for the w of gaussian_field(seed): N³
/// independent values of mean 0 and variance 1. Collective.
void white_noise(fourier::FourierMesh& noise, std::uint64_t seed);

}  // namespace cosmo::sim
