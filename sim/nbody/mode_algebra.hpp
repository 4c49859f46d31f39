#pragma once
// What derivatives of a periodic field multiply its modes by.

#include <algorithm>
#include <array>
#include <complex>
#include <cstdlib>

namespace cosmo::sim {

using Wavevector = std::array<int, 3>;  // signed, in units of the fundamental

/// 1/k²; at k = 0 the value is irrelevant, because the mode is also multiplied by k.
inline float inverse_square(const Wavevector& k) {
  return 1.0f / static_cast<float>(std::max(1, k[0] * k[0] + k[1] * k[1] + k[2] * k[2]));
}

/// The component by which an odd derivative multiplies: 0 at the Nyquist wavenumber, whose sign is undefined.
inline float odd(int k, int side) { return 2 * std::abs(k) == side ? 0.0f : static_cast<float>(k); }

/// The map of a field's modes to those of ∂i ∂j ∇⁻² of it on a mesh of `side` cells per side: k_i k_j / k².
inline auto tidal(std::size_t i, std::size_t j, int side) {
  return [=](int kx, int ky, int kz, std::complex<float> mode) {
    const Wavevector k = {kx, ky, kz};
    const float product = i == j ? static_cast<float>(k[i] * k[i]) : odd(k[i], side) * odd(k[j], side);
    return product * inverse_square(k) * mode;
  };
}

}  // namespace cosmo::sim
