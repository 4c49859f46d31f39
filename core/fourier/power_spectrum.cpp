#include "core/fourier/power_spectrum.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "core/error.hpp"

namespace cosmo::fourier {

namespace {

/// Sums over the modes of one bin in one plane of ky.
struct BinSum {
  double k = 0;
  double power = 0;
  std::int64_t modes = 0;
};

/// One thread sums each plane, in order of kx, so the order of additions is always the same.
std::vector<BinSum> sum_plane(const FourierMesh& delta, int ky, std::size_t bins,
                              std::span<const double> inverse) {
  const int n = delta.side();
  const auto at = [&](int wavenumber) { return inverse[static_cast<std::size_t>(std::abs(wavenumber))]; };
  const int last = std::min(n / 2, static_cast<int>(bins));  // larger components are beyond all bins
  std::vector<BinSum> sums(bins);
  for (int x = 0; x < n; ++x) {
    const int kx = 2 * x <= n ? x : x - n;
    if (std::abs(kx) > last || std::abs(ky) > last) continue;
    const std::complex<float>* modes = delta.mode_row(kx, ky);
    const double factor = at(kx) * at(ky);
    for (int kz = 0; kz <= last; ++kz) {
      const double k = std::sqrt(static_cast<double>(kx * kx + ky * ky + kz * kz));
      // The nearest whole number minus one; k = 0 wraps to a bin that does not exist.
      const auto bin = static_cast<std::size_t>(static_cast<int>(k + 0.5)) - 1;
      if (bin >= bins) continue;
      // A mode and its conjugate at -kz, which is not stored, except on the planes that hold both.
      const int copies = kz == 0 || 2 * kz == n ? 1 : 2;
      sums[bin].k += copies * k;
      sums[bin].power += copies * static_cast<double>(std::norm(modes[kz])) * (factor * at(kz));
      sums[bin].modes += copies;
    }
  }
  return sums;
}

}  // namespace

PowerSpectrum power_spectrum(const FourierMesh& delta, const PowerSpectrumOptions& options) {
  const int n = delta.side();
  core::ensure(options.bins >= 0 && options.bins <= n / 2, core::Fault::internal,
               "{} bins of power are asked of a mesh that has {}.", options.bins, n / 2);
  const auto bins = static_cast<std::size_t>(options.bins > 0 ? options.bins : n / 2);
  const std::vector<double> inverse = inverse_square_window(n, options.assignment);
  // (ky, bin, {k, power}): each entry has one contributor, so the sum over ranks rounds nothing.
  std::vector<double> planes(static_cast<std::size_t>(n) * bins * 2);
  std::vector<std::int64_t> modes(bins);
#pragma omp parallel for schedule(dynamic)
  for (int y = delta.slab().first; y < delta.slab().last; ++y) {
    const std::vector<BinSum> sums = sum_plane(delta, 2 * y <= n ? y : y - n, bins, inverse);
    double* plane = planes.data() + static_cast<std::size_t>(y) * bins * 2;
    for (std::size_t bin = 0; bin < bins; ++bin) {
      plane[2 * bin] = sums[bin].k;
      plane[2 * bin + 1] = sums[bin].power;
#pragma omp atomic
      modes[bin] += sums[bin].modes;
    }
  }
  delta.communicator().sum(std::span(planes));
  delta.communicator().sum(std::span(modes));

  PowerSpectrum result{std::vector<double>(bins), std::vector<double>(bins), std::move(modes)};
  const double volume = std::pow(delta.grid().box_size, 3);
  for (std::size_t bin = 0; bin < bins; ++bin) {
    for (std::size_t entry = 2 * bin; entry < planes.size(); entry += 2 * bins) {
      result.k[bin] += planes[entry];
      result.power[bin] += planes[entry + 1];
    }
    const auto count = static_cast<double>(result.modes[bin]);
    result.k[bin] *= delta.fundamental() / count;
    result.power[bin] *= volume / count;
  }
  return result;
}

}  // namespace cosmo::fourier
