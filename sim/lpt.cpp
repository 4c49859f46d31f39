#include "sim/lpt.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

namespace cosmo::sim {

namespace {

using Wavevector = std::array<int, 3>;  // signed, in units of the fundamental

/// 1/k²; the mode k = 0 is multiplied by k before or after and so never counts.
float inverse_square(const Wavevector& k) {
  return 1.0f / static_cast<float>(std::max(1, k[0] * k[0] + k[1] * k[1] + k[2] * k[2]));
}

/// The component that an odd derivative multiplies by: none at Nyquist, whose sign is undefined.
float odd(int k, int side) { return 2 * std::abs(k) == side ? 0.0f : static_cast<float>(k); }

/// out = φ,ij = k_i k_j / k² delta.
void tidal_field(fourier::FourierMesh& out, const fourier::FourierMesh& delta, std::size_t i, std::size_t j) {
  const int n = delta.side();
  out.for_each_mode_row([&](int kx, int ky, std::complex<float>* modes) {
    const std::complex<float>* source = delta.mode_row(kx, ky);
    for (int kz = 0; kz <= n / 2; ++kz) {
      const Wavevector k = {kx, ky, kz};
      const float product = i == j ? static_cast<float>(k[i] * k[i]) : odd(k[i], n) * odd(k[j], n);
      modes[kz] = product * inverse_square(k) * source[kz];
    }
  });
  out.backward();
}

/// out = factor · i k_axis / k² source: the inverse gradient of a scalar, up to its sign.
void displacement(fourier::FourierMesh& out, const fourier::FourierMesh& source, std::size_t axis,
                  float factor) {
  const int n = source.side();
  const float scale = factor / static_cast<float>(source.fundamental());
  out.for_each_mode_row([&](int kx, int ky, std::complex<float>* modes) {
    const std::complex<float>* from = source.mode_row(kx, ky);
    for (int kz = 0; kz <= n / 2; ++kz) {
      const Wavevector k = {kx, ky, kz};
      const float component = scale * odd(k[axis], n) * inverse_square(k);
      modes[kz] = {-component * from[kz].imag(), component * from[kz].real()};
    }
  });
  out.backward();
}

/// S = Σ_{i<j} (φ,ii φ,jj - φ,ij²) = ½ delta² - ½ Σ_i φ,ii² - Σ_{i<j} φ,ij² as modes in `sum`.
void second_order_source(fourier::FourierMesh& sum, const fourier::FourierMesh& delta,
                         fourier::FourierMesh& scratch) {
  const int n = delta.side();
  sum.for_each_mode_row([&](int kx, int ky, std::complex<float>* modes) {
    std::copy_n(delta.mode_row(kx, ky), n / 2 + 1, modes);
  });
  sum.backward();
  sum.for_each_row([&](int, int, float* row) {
    for (int z = 0; z < n; ++z) row[z] *= 0.5f * row[z];
  });
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = i; j < 3; ++j) {
      tidal_field(scratch, delta, i, j);
      const float weight = i == j ? 0.5f : 1.0f;
      sum.for_each_row([&](int x, int y, float* row) {
        const float* tidal = scratch.row(x, y);
        for (int z = 0; z < n; ++z) row[z] -= weight * tidal[z] * tidal[z];
      });
    }
  }
  sum.forward();
}

/// Particle (x, y, z) of the slab, in that order, takes its value of the mesh as component `axis` of the
/// column.
void take_component(std::span<float> column, fourier::FourierMesh& mesh, std::size_t axis) {
  const auto n = static_cast<std::size_t>(mesh.side());
  mesh.for_each_row([&](int x, int y, const float* row) {
    const auto plane = static_cast<std::size_t>(x - mesh.slab().first), line = static_cast<std::size_t>(y);
    float* out = column.data() + 3 * (plane * n + line) * n + axis;
    for (std::size_t z = 0; z < n; ++z) out[3 * z] = row[z];
  });
}

}  // namespace

ParticleSet lagrangian_particles(fourier::FourierMesh delta) {
  const auto n = static_cast<std::size_t>(delta.side());
  fourier::FourierMesh scratch(delta.communicator(), delta.grid());
  ParticleSet particles(static_cast<std::size_t>(delta.slab().size()) * n * n);

  for (std::size_t axis = 0; axis < 3; ++axis) {
    displacement(scratch, delta, axis, 1.0f);
    take_component(particles.psi1(), scratch, axis);
  }
  {
    fourier::FourierMesh source(delta.communicator(), delta.grid());
    second_order_source(source, delta, scratch);
    for (std::size_t axis = 0; axis < 3; ++axis) {
      displacement(scratch, source, axis, -1.0f);
      take_component(particles.psi2(), scratch, axis);
    }
  }

  const double spacing = delta.grid().cell_size();
  std::ranges::fill(particles.p(), 0.0f);
  const std::span<float> positions = particles.x();
  scratch.for_each_row([&](int x, int y, float*) {
    std::size_t i = (static_cast<std::size_t>(x - delta.slab().first) * n + static_cast<std::size_t>(y)) * n;
    for (std::size_t z = 0; z < n; ++z, ++i) {
      positions[3 * i] = static_cast<float>(x * spacing);
      positions[3 * i + 1] = static_cast<float>(y * spacing);
      positions[3 * i + 2] = static_cast<float>(static_cast<double>(z) * spacing);
    }
  });
  return particles;
}

}  // namespace cosmo::sim
