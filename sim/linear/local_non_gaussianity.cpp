#include "sim/linear/local_non_gaussianity.hpp"

#include <utility>

#include "sim/linear/mode_table.hpp"

namespace cosmo::sim {

std::function<double(double)> density_per_potential(TransferFunction transfer, double large_scales,
                                                    double omega_m, double growth) {
  constexpr double kHubbleLength = 2997.92458;  // c/H0 [Mpc/h]
  const double factor = 2 * growth * kHubbleLength * kHubbleLength / (3 * omega_m * transfer(large_scales));
  return [factor, transfer = std::move(transfer)](double k) {
    return k == 0 ? 0 : factor * k * k * transfer(k);
  };
}

void add_local_non_gaussianity(fourier::FourierMesh& delta, double f_nl,
                               const std::function<double(double)>& alpha) {
  const ModeTable table(delta, alpha);
  fourier::FourierMesh square(delta.communicator(), delta.grid());
  const std::size_t plane_size = static_cast<std::size_t>(delta.side()) * delta.row_stride();
  square.backward_from(
      delta,
      [&](int kx, int ky, int kz, std::complex<float> mode) {
        return kx == 0 && ky == 0 && kz == 0 ? 0 : mode / table(kx, ky, kz);
      },
      [&](int x) {
        float* plane = square.row(x, 0);
        for (std::size_t i = 0; i < plane_size; ++i) plane[i] *= plane[i];
      });
  square.forward();
  const auto weight = static_cast<float>(f_nl);
  delta.for_each_mode([&](int kx, int ky, int kz, std::complex<float>& mode) {
    mode += weight * table(kx, ky, kz) * square.mode_row(kx, ky)[kz];  // α(0) = 0: without <φ²>
  });
}

}  // namespace cosmo::sim
