#include "core/fourier/power_spectrum.hpp"

#include <cmath>
#include <complex>
#include <cstdint>

namespace cosmo::fourier {

namespace {

struct Sums {
  explicit Sums(std::size_t bins) : k(bins), power(bins), modes(bins) {}
  std::vector<double> k, power;
  std::vector<std::int64_t> modes;
};

}  // namespace

PowerSpectrum power_spectrum(const FourierMesh& delta) {
  const int n = delta.side();
  const auto bins = static_cast<std::size_t>(n / 2);
  Sums total(bins);
  delta.for_each_mode_row([&](int kx, int ky, const std::complex<float>* modes) {
    Sums row(bins);
    for (int kz = 0; kz <= n / 2; ++kz) {
      const double k = std::sqrt(static_cast<double>(kx * kx + ky * ky + kz * kz));
      const auto bin =
          static_cast<std::size_t>(std::lround(k)) - 1;  // k = 0 wraps to a bin that is not there
      if (bin >= bins) continue;
      // A mode and its conjugate at -kz, which is not stored, except on the planes that hold both.
      const int copies = kz == 0 || 2 * kz == n ? 1 : 2;
      row.k[bin] += copies * k;
      row.power[bin] += copies * static_cast<double>(std::norm(modes[kz]));
      row.modes[bin] += copies;
    }
#pragma omp critical
    for (std::size_t bin = 0; bin < bins; ++bin) {
      total.k[bin] += row.k[bin];
      total.power[bin] += row.power[bin];
      total.modes[bin] += row.modes[bin];
    }
  });
  const auto& comm = delta.communicator();
  comm.sum(std::span(total.k));
  comm.sum(std::span(total.power));
  comm.sum(std::span(total.modes));

  const double volume = std::pow(delta.grid().box_size, 3);
  for (std::size_t bin = 0; bin < bins; ++bin) {
    const auto count = static_cast<double>(total.modes[bin]);
    total.k[bin] *= delta.fundamental() / count;
    total.power[bin] *= volume / count;
  }
  return {std::move(total.k), std::move(total.power), std::move(total.modes)};
}

}  // namespace cosmo::fourier
