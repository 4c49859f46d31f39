#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include "core/fourier/fourier_mesh.hpp"

namespace cosmo::sim {

/// A function of the wavenumber k [h/Mpc] for the modes of a mesh, computed once for each k²: there are far
/// fewer values of k² than modes.
class ModeTable {
 public:
  template <class F>
  ModeTable(const fourier::FourierMesh& mesh, const F& value) {
    const auto half = static_cast<std::size_t>(mesh.side() / 2);
    values_.resize(3 * half * half + 1);
#pragma omp parallel for schedule(static)
    for (std::size_t i = 0; i < values_.size(); ++i) {
      values_[i] = static_cast<float>(value(mesh.fundamental() * std::sqrt(static_cast<double>(i))));
    }
  }

  /// The value at this signed wavenumber, in units of the fundamental.
  float operator()(int kx, int ky, int kz) const {
    return values_[static_cast<std::size_t>(kx * kx + ky * ky + kz * kz)];
  }

 private:
  std::vector<float> values_;
};

}  // namespace cosmo::sim
