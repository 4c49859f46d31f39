#pragma once
// A sample of the initial conditions of a universe whose initial density is predicted.

#include <cstdint>
#include <filesystem>
#include <span>

#include "core/fourier/fourier_mesh.hpp"
#include "infer/initial/stated_spectrum.hpp"
#include "nn/model/field_posterior.hpp"

namespace cosmo::infer {

/// A predicted density of z = 0 (side, side, side), at the centres of voxels, in linear theory.
struct PredictedDensity {
  std::span<const float> values;
  int side;
};

/// Fills `noise`, whose box is the spectrum's in Mpc/h, with white noise of rms 1 for the nodes i L/N. Below the Nyquist
/// wavenumbers of voxels and noise its modes are (a(k) p + √(s(k) P/V) g)/√(P/V) with the posterior's gain a and power left s; g, and
/// all other modes, are those of sim::white_noise(seed). Returns the rms before it was brought to 1. The same bits for any number of ranks
/// and threads. Collective.
double sample_noise(fourier::FourierMesh& noise, std::uint64_t seed, const PredictedDensity& density,
                    const nn::FieldPosterior& posterior, const StatedSpectrum& spectrum);

/// Writes it as cosmo-sim noise does. Collective.
void publish_sample(const fourier::FourierMesh& noise, std::uint64_t seed, const std::filesystem::path& path);
/// Throws Error{config} or Error{io} naming --white-noise if that cannot be written there.
void ensure_place_for_sample(const std::filesystem::path& path, bool force);

}  // namespace cosmo::infer
