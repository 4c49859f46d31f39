#include "core/fourier/correlation_function.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdlib>
#include <span>

namespace cosmo::fourier {

namespace {

/// Replaces every mode by the power of its wave, without that of the mean.
void square_modes(FourierMesh& delta, MassAssignment assignment) {
  const std::vector<double> inverse = inverse_square_window(delta.side(), assignment);
  const auto at = [&](int wavenumber) { return inverse[static_cast<std::size_t>(std::abs(wavenumber))]; };
  delta.for_each_mode_row([&](int kx, int ky, std::complex<float>* modes) {
    for (int kz = 0; kz <= delta.side() / 2; ++kz) {
      modes[kz] = static_cast<float>(static_cast<double>(std::norm(modes[kz])) * at(kx) * at(ky) * at(kz));
    }
    if (kx == 0 && ky == 0) modes[0] = 0;
  });
}

}  // namespace

CorrelationFunction correlation_function(FourierMesh& delta, MassAssignment assignment) {
  const int n = delta.side();
  const auto bins = static_cast<std::size_t>(n / 2);
  square_modes(delta, assignment);
  // (x, bin, {r, ξ}): each entry has one contributor, so the sum over ranks rounds nothing.
  std::vector<double> planes(static_cast<std::size_t>(n) * bins * 2);
  CorrelationFunction result{std::vector<double>(bins), std::vector<double>(bins),
                             std::vector<std::int64_t>(bins)};
  delta.backward([&](int x) {
    double* plane = planes.data() + static_cast<std::size_t>(x) * bins * 2;
    std::vector<std::int64_t> separations(bins);
    const int dx = std::min(x, n - x);
    for (int y = 0; y < n; ++y) {
      const int dy = std::min(y, n - y);
      for (int z = 0; z <= n / 2; ++z) {  // ξ(x) = ξ(-x)
        const double r = std::sqrt(static_cast<double>(dx * dx + dy * dy + z * z));
        // The nearest whole number minus one; r = 0 wraps to a bin that does not exist.
        const auto bin = static_cast<std::size_t>(static_cast<int>(r + 0.5)) - 1;
        if (bin >= bins) continue;
        const int copies = z == 0 || 2 * z == n ? 1 : 2;
        plane[2 * bin] += copies * r;
        plane[2 * bin + 1] += copies * static_cast<double>(delta.row(x, y)[z]);
        separations[bin] += copies;
      }
    }
    for (std::size_t bin = 0; bin < bins; ++bin) {
#pragma omp atomic
      result.separations[bin] += separations[bin];
    }
  });
  delta.communicator().sum(std::span(planes));
  delta.communicator().sum(std::span(result.separations));
  for (std::size_t bin = 0; bin < bins; ++bin) {
    for (std::size_t entry = 2 * bin; entry < planes.size(); entry += 2 * bins) {
      result.r[bin] += planes[entry];
      result.xi[bin] += planes[entry + 1];
    }
    const auto count = static_cast<double>(result.separations[bin]);
    result.r[bin] *= delta.grid().cell_size() / count;
    result.xi[bin] /= count;
  }
  return result;
}

}  // namespace cosmo::fourier
