#include "sim/nbody/lpt.hpp"

#include <span>
#include <utility>

#include "sim/nbody/mode_algebra.hpp"
#include "sim/nbody/third_order.hpp"

namespace cosmo::sim {

namespace {

/// S = Σ_{i<j} (φ,ii φ,jj - φ,ij²) = ½ delta² - ½ Σ_i φ,ii² - Σ_{i<j} φ,ij² as modes in `sum`, where φ,ij =
/// k_i k_j / k² delta.
void second_order_source(fourier::FourierMesh& sum, const fourier::FourierMesh& delta,
                         fourier::FourierMesh& scratch) {
  const int n = delta.side();
  const std::size_t plane_size = static_cast<std::size_t>(n) * delta.row_stride();
  sum.backward_from(
      delta, [](int, int, int, std::complex<float> mode) { return mode; },
      [&](int x) {
        float* plane = sum.row(x, 0);
        for (std::size_t i = 0; i < plane_size; ++i) plane[i] *= 0.5f * plane[i];
      });
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = i; j < 3; ++j) {
      const float weight = i == j ? 0.5f : 1.0f;
      scratch.backward_from(delta, tidal(i, j, n), [&](int x) {
        float* plane = sum.row(x, 0);
        const float* value = scratch.row(x, 0);
        for (std::size_t at = 0; at < plane_size; ++at) plane[at] -= weight * value[at] * value[at];
      });
    }
  }
  sum.forward();
}

/// Sets the vector of particle (x, y, z) of the slab, in that order, to factor · ik/k² source at its node:
/// the inverse gradient of a scalar, up to its sign.
void displacements(std::span<float> column, const fourier::FourierMesh& source, float factor,
                   fourier::FourierMesh& scratch) {
  const int side = source.side();
  const float scale = factor / static_cast<float>(source.fundamental());
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const auto inverse_gradient = [=](int kx, int ky, int kz, std::complex<float> mode) {
      const Wavevector k = {kx, ky, kz};
      const float component = scale * odd(k[axis], side) * inverse_square(k);
      return std::complex<float>(-component * mode.imag(), component * mode.real());
    };
    scratch.backward_from(source, inverse_gradient, [&, axis](int x) {
      for_each_component(column, axis, scratch, x, [](float& component, float value) { component = value; });
    });
  }
}

}  // namespace

ParticleSet lagrangian_particles(fourier::FourierMesh delta, const std::optional<ThirdOrderStart>& third) {
  const core::Slab slab = delta.slab();
  const auto n = static_cast<std::size_t>(delta.side());
  const std::size_t count = static_cast<std::size_t>(slab.size()) * n * n;
  ParticleSet particles(count, ParticleSet::spare(count, delta.communicator().size()));
  fourier::FourierMesh source(delta.communicator(), delta.grid()),
      scratch(delta.communicator(), delta.grid());
  std::optional<ThirdOrder> third_order;
  {
    const fourier::FourierMesh field = std::move(delta);
    second_order_source(source, field, scratch);
    if (third) third_order.emplace(field, source, scratch);
    displacements(particles.psi1(), field, 1.0f, scratch);
  }
  displacements(particles.psi2(), source, -1.0f, scratch);
  if (third_order) third_order->add_to(particles, third->background, third->a, scratch);
  return particles;
}

void place(ParticleSet& particles, const core::GridSpec& lattice, const core::Communicator& comm) {
  float *x = particles.x().data(), *p = particles.p().data();
  for_each_node(lattice, comm, [=](std::size_t i, const Vector4& q) {
    store3(x + 3 * i, q);
    store3(p + 3 * i, Vector4{});
  });
}

}  // namespace cosmo::sim
