#include "sim/nbody/third_order.hpp"

#include <algorithm>
#include <complex>
#include <vector>

#include "sim/linear/third_growth.hpp"
#include "sim/nbody/lpt.hpp"
#include "sim/nbody/mode_algebra.hpp"

namespace cosmo::sim {

namespace {

using fourier::FourierMesh;

/// The six components of a symmetric tensor.
constexpr std::array<std::array<std::size_t, 2>, 6> kComponents = {
    {{0, 0}, {0, 1}, {0, 2}, {1, 1}, {1, 2}, {2, 2}}};
constexpr std::array<std::array<std::size_t, 3>, 3> kIndexOf = {{{0, 1, 2}, {1, 3, 4}, {2, 4, 5}}};

/// One node's Φ_ij, and what it contributes to the sources with one component of B.
struct Tide {
  std::array<float, 6> value;

  float at(std::size_t i, std::size_t j) const { return value[kIndexOf[i][j]]; }

  float determinant() const {
    return at(0, 0) * (at(1, 1) * at(2, 2) - at(1, 2) * at(1, 2)) -
           at(0, 1) * (at(0, 1) * at(2, 2) - at(1, 2) * at(0, 2)) +
           at(0, 2) * (at(0, 1) * at(1, 2) - at(1, 1) * at(0, 2));
  }

  /// What B_pq (and B_qp) of 1 contributes to tr Φ tr B - tr ΦB.
  template <std::size_t p, std::size_t q>
  float mixed() const {
    return p == q ? at(0, 0) + at(1, 1) + at(2, 2) - at(p, p) : -2 * at(p, q);
  }

  /// What it contributes to the component of BΦ - ΦB that is ω_i.
  template <std::size_t p, std::size_t q>
  float curl(std::size_t i) const {
    const std::size_t j = (i + 1) % 3, k = (i + 2) % 3;
    float sum = 0;
    if (j == p || j == q) sum += at(p + q - j, k);
    if (k == p || k == q) sum -= at(j, p + q - k);
    return sum;
  }
};

/// A row of nodes.
struct TideRow {
  TideRow(const std::vector<FourierMesh>& tides, int x, int y) {
    for (std::size_t c = 0; c < value.size(); ++c) value[c] = tides[c].row(x, y);
  }
  Tide operator[](std::size_t z) const {
    return {{value[0][z], value[1][z], value[2][z], value[3][z], value[4][z], value[5][z]}};
  }

  std::array<const float*, 6> value;
};

/// Adds what component B_pq contributes to rows of the sources. Which component is known to the compiler, which
/// otherwise would decide at every node.
template <std::size_t p, std::size_t q>
void add_component(const TideRow& tides, std::span<const float> b, float* mixed,
                   const std::array<float*, 3>& curl) {
#pragma omp simd
  for (std::size_t z = 0; z < b.size(); ++z) {
    const Tide tide = tides[z];
    mixed[z] -= tide.mixed<p, q>() * b[z];
    for (std::size_t i = 0; i < 3; ++i) curl[i][z] += tide.curl<p, q>(i) * b[z];
  }
}

constexpr std::array kAddComponent = {&add_component<0, 0>, &add_component<0, 1>, &add_component<0, 2>,
                                      &add_component<1, 1>, &add_component<1, 2>, &add_component<2, 2>};

fourier::FourierMesh like(const FourierMesh& mesh) { return {mesh.communicator(), mesh.grid()}; }

}  // namespace

ThirdOrder::ThirdOrder(const FourierMesh& delta, const FourierMesh& second, FourierMesh& scratch)
    : determinant_(like(delta)), mixed_(like(delta)), curl_{like(delta), like(delta), like(delta)} {
  const int n = delta.side();
  const auto cells = static_cast<std::size_t>(n);
  std::vector<FourierMesh> tides;
  for (const auto& [i, j] : kComponents) {
    tides.push_back(like(delta));
    tides.back().backward_from(delta, tidal(i, j, n));
    tides.back().free_exchange_buffers();
  }
  determinant_.for_each_row([&](int x, int y, float* row) {
    const TideRow tide(tides, x, y);
    for (std::size_t z = 0; z < cells; ++z) row[z] = -tide[z].determinant();
    std::fill_n(mixed_.row(x, y), cells, 0.0f);
    for (FourierMesh& curl : curl_) std::fill_n(curl.row(x, y), cells, 0.0f);
  });
  for (std::size_t c = 0; c < kComponents.size(); ++c) {
    scratch.backward_from(second, tidal(kComponents[c][0], kComponents[c][1], n), [&](int x) {
      for (int y = 0; y < n; ++y) {
        kAddComponent[c](TideRow(tides, x, y), {scratch.row(x, y), cells}, mixed_.row(x, y),
                         {curl_[0].row(x, y), curl_[1].row(x, y), curl_[2].row(x, y)});
      }
    });
  }
  for (FourierMesh* source : {&determinant_, &mixed_, &curl_[0], &curl_[1], &curl_[2]}) {
    source->forward();
    source->free_exchange_buffers();
  }
}

/// Factors of the three parts of psi3.
struct ThirdOrder::Weights {
  float determinant, mixed, transverse;
};

/// Adds -ik/k² (determinant, mixed) + i k × ω / k², weighted, to the vectors of a column.
void ThirdOrder::add(std::span<float> column, const Weights& weights, FourierMesh& scratch) const {
  const int side = scratch.side();
  const auto scale = static_cast<float>(1 / scratch.fundamental());
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::size_t j = (axis + 1) % 3, k = (axis + 2) % 3;
    scratch.for_each_mode_row([&](int kx, int ky, std::complex<float>* modes) {
      const auto* determinant = determinant_.mode_row(kx, ky);
      const auto* mixed = mixed_.mode_row(kx, ky);
      const auto *curl_j = curl_[j].mode_row(kx, ky), *curl_k = curl_[k].mode_row(kx, ky);
      for (int kz = 0; kz <= side / 2; ++kz) {
        const Wavevector wave = {kx, ky, kz};
        const auto component = [&](std::size_t i) { return odd(wave[i], side); };
        const std::complex<float> scalar = weights.determinant * determinant[kz] + weights.mixed * mixed[kz];
        const std::complex<float> vector = component(j) * curl_k[kz] - component(k) * curl_j[kz];
        const std::complex<float> sum = weights.transverse * vector - component(axis) * scalar;
        const float factor = scale * inverse_square(wave);
        modes[kz] = {-factor * sum.imag(), factor * sum.real()};
      }
    });
    scratch.backward([&, axis](int x) {
      for_each_component(column, axis, scratch, x, [](float& component, float value) { component += value; });
    });
  }
}

void ThirdOrder::add_to(ParticleSet& particles, const Background& background, double a,
                        FourierMesh& scratch) const {
  const ThirdGrowth third = third_growth(background, a);
  const double first = background.D1(a), second = background.D2(a);
  const double first_rate = background.T_D1(a), second_rate = background.T_D2(a);
  const double determinant = first * second_rate - second * first_rate;
  // For each mode the e and c of D1 e + D2 c = D, T[D1] e + T[D2] c = T[D].
  const auto in_first = [&](const ThirdGrowth::Mode& mode) {
    return static_cast<float>((mode.D * second_rate - second * mode.T_D) / determinant);
  };
  const auto in_second = [&](const ThirdGrowth::Mode& mode) {
    return static_cast<float>((first * mode.T_D - first_rate * mode.D) / determinant);
  };
  const auto weights = [&](const auto& share) {
    return Weights{share(third.determinant), share(third.mixed), share(third.transverse)};
  };
  add(particles.psi1(), weights(in_first), scratch);
  add(particles.psi2(), weights(in_second), scratch);
}

}  // namespace cosmo::sim
