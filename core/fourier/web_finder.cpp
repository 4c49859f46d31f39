#include "core/fourier/web_finder.hpp"

#include <array>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdlib>

namespace cosmo::fourier {

namespace {

constexpr std::size_t kMeshes = kTensorComponents.size() + 1;

/// How many eigenvalues of a symmetric matrix (xx, yy, zz, xy, xz, yz) are positive: the changes of sign in its characteristic
/// polynomial x³ - trace x² + minors x - determinant, all of whose roots are real (Descartes' rule).
std::uint8_t positive_eigenvalues(const std::array<double, kTensorComponents.size()>& t) {
  const auto [xx, yy, zz, xy, xz, yz] = t;
  const double minor_x = yy * zz - yz * yz, minors = minor_x + (xx * zz - xz * xz) + (xx * yy - xy * xy);
  const double determinant = xx * minor_x - xy * (xy * zz - xz * yz) + xz * (xy * yz - xz * yy);
  std::uint8_t changes = 0;
  bool positive = true;
  for (const double coefficient : {-(xx + yy + zz), minors, -determinant}) {
    if (coefficient == 0 || (coefficient > 0) == positive) continue;
    positive = !positive;
    ++changes;
  }
  return changes;
}

}  // namespace

void to_tidal_potential(FourierMesh& delta, double radius) {
  std::vector<double> smooth;
  for (int k = 0; k <= delta.side() / 2; ++k)
    smooth.push_back(std::exp(-std::pow(delta.fundamental() * k * radius, 2) / 2));
  const auto of = [&](int k) { return smooth[static_cast<std::size_t>(std::abs(k))]; };
  delta.for_each_mode([&](int kx, int ky, int kz, std::complex<float>& mode) {
    const double square =
        static_cast<double>(kx) * kx + static_cast<double>(ky) * ky + static_cast<double>(kz) * kz;
    mode *= static_cast<float>(square > 0 ? of(kx) * of(ky) * of(kz) / square : 0);
  });
}

void tide(const FourierMesh& potential, const std::array<std::size_t, 2>& axes, FourierMesh& values) {
  const int n = potential.side();
  values.backward_from(potential, [&](int kx, int ky, int kz, std::complex<float> mode) {
    const std::array<int, 3> k = {kx, ky, kz};
    const int a = k[axes[0]], b = k[axes[1]];
    const bool seen = axes[0] == axes[1] || (2 * a != n && 2 * b != n);
    return seen ? mode * (static_cast<float>(a) * static_cast<float>(b)) : 0;
  });
}

std::vector<std::uint8_t> web_classes(FourierMesh& delta, const core::WebDefinition& web) {
  delta.forward();
  to_tidal_potential(delta, web.radius);
  delta.free_exchange_buffers();
  std::vector<FourierMesh> tensor;
  for (const auto& axes : kTensorComponents) {
    tide(delta, axes, tensor.emplace_back(delta.communicator(), delta.grid()));
    tensor.back().free_exchange_buffers();
  }
  const auto n = static_cast<std::size_t>(delta.side());
  const int first = delta.slab().first;
  std::vector<std::uint8_t> classes(static_cast<std::size_t>(delta.slab().size()) * n * n);
  delta.for_each_row([&](int x, int y, const float*) {
    std::uint8_t* row = &classes[(static_cast<std::size_t>(x - first) * n + static_cast<std::size_t>(y)) * n];
    for (std::size_t z = 0; z < n; ++z) {
      std::array<double, kTensorComponents.size()> t;
      for (std::size_t c = 0; c < t.size(); ++c)
        t[c] = static_cast<double>(tensor[c].row(x, y)[z]) - (c < 3 ? web.threshold : 0);
      row[z] = positive_eigenvalues(t);
    }
  });
  return classes;
}

std::uint64_t web_memory(int side, int ranks) {
  const auto n = static_cast<std::uint64_t>(side), parts = static_cast<std::uint64_t>(ranks);
  const std::uint64_t planes = (n + parts - 1) / parts;
  return (kMeshes - 1) * planes * FourierMesh::plane_bytes(side) + FourierMesh::memory_bytes(side, ranks) +
         planes * n * n;
}

}  // namespace cosmo::fourier
