#pragma once

#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>

#include "core/fourier/fourier_mesh.hpp"

/// A rough field that any rank can evaluate anywhere.
inline float rough_value(int x, int y, int z) {
  return static_cast<float>(std::sin(12.9898 * x + 78.233 * y + 37.719 * z + 0.1 * x * y * z));
}

inline void fill_rough(cosmo::fourier::FourierMesh& mesh) {
  mesh.for_each_row([&](int x, int y, float* row) {
    for (int z = 0; z < mesh.side(); ++z) row[z] = rough_value(x, y, z);
  });
}

/// A bijection of 64-bit words that leaves no pattern. Source: the finaliser of MurmurHash3 (Appleby, public
/// domain).
inline std::uint64_t scrambled(std::uint64_t word) {
  word = (word ^ (word >> 33)) * 0xff51afd7ed558ccdu;
  word = (word ^ (word >> 33)) * 0xc4ceb9fe1a85ec53u;
  return word ^ (word >> 33);
}

/// Does not depend on how the modes are spread over ranks and threads; does depend on every bit of every
/// mode.
inline std::uint64_t fingerprint(cosmo::fourier::FourierMesh& mesh) {
  std::uint64_t sum = 0;
  mesh.for_each_mode([&](int kx, int ky, int kz, std::complex<float>& mode) {
    const auto place = static_cast<std::uint64_t>(((kx + 4096) * 8192L + ky + 4096) * 8192L + kz);
    const std::uint64_t word = scrambled(scrambled(place) + std::bit_cast<std::uint64_t>(mode));
#pragma omp atomic
    sum += word;
  });
  return mesh.communicator().sum(sum);
}
