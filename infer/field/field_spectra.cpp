#include "infer/field/field_spectra.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

namespace cosmo::infer {

void SpectrumSums::add(const SpectrumSums& other) {
  prediction += other.prediction;
  truth += other.truth;
  cross += other.cross;
  modes += other.modes;
}

double SpectrumSums::correlation() const {
  if (modes == 0 || truth == 0) return std::numeric_limits<double>::quiet_NaN();
  const double norm = std::sqrt(prediction * truth);
  return norm > 0 ? cross / norm : 0;
}

double SpectrumSums::transfer() const {
  if (modes == 0 || truth == 0) return std::numeric_limits<double>::quiet_NaN();
  return std::sqrt(prediction / truth);
}

FieldSpectra::FieldSpectra(int side, double box)
    : self_(core::Communicator::self()), truth_(self_, {side, box}), prediction_(self_, {side, box}) {}

std::vector<double> FieldSpectra::bins() const {
  const double nyquist = truth_.fundamental() * truth_.side() / 2;
  std::vector<double> middles;
  for (int bin = 0; bin * kBin < nyquist; ++bin) middles.push_back((bin + 0.5) * kBin);
  return middles;
}

void FieldSpectra::transform(fourier::FourierMesh& mesh, std::span<const float> field) {
  const auto n = static_cast<std::size_t>(mesh.side());
  mesh.for_each_row([&](int x, int y, float* row) {
    std::copy_n(field.data() + (static_cast<std::size_t>(x) * n + static_cast<std::size_t>(y)) * n, n, row);
  });
  mesh.forward();
}

void FieldSpectra::set_truth(std::span<const float> field) { transform(truth_, field); }

Spectra FieldSpectra::of(std::span<const float> prediction) {
  transform(prediction_, prediction);
  Spectra sums(bins().size());
  const int n = truth_.side(), half = (n - 1) / 2;  // Nyquist modes are left out
  for (int kx = -half; kx <= half; ++kx) {
    for (int ky = -half; ky <= half; ++ky) {
      const std::complex<float>*p = prediction_.mode_row(kx, ky), *t = truth_.mode_row(kx, ky);
      for (int kz = 0; kz <= half; ++kz) {
        const double k = truth_.fundamental() * std::sqrt(kx * kx + ky * ky + kz * kz);
        const auto bin = static_cast<std::size_t>(k / kBin);
        if (bin >= sums.size() || k == 0) continue;
        const std::uint64_t twice = kz == 0 ? 1 : 2;
        const std::complex<double> a = p[kz], b = t[kz];
        sums[bin].add({static_cast<double>(twice) * std::norm(a), static_cast<double>(twice) * std::norm(b),
                       static_cast<double>(twice) * (a * std::conj(b)).real(), twice});
      }
    }
  }
  return sums;
}

}  // namespace cosmo::infer
