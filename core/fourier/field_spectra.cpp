#include "core/fourier/field_spectra.hpp"

#include <algorithm>
#include <limits>

namespace cosmo::fourier {

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

FieldSpectra::FieldSpectra(int side, double box, Modes modes)
    : self_(core::Communicator::self()),
      truth_(self_, {side, box}),
      prediction_(self_, {side, box}),
      modes_(modes) {}

std::vector<double> FieldSpectra::bins() const {
  const double nyquist = truth_.fundamental() * truth_.side() / 2;
  const double end = modes_ == Modes::in_sphere ? nyquist : std::sqrt(3.0) * nyquist;
  std::vector<double> middles;
  for (int bin = 0; bin * kBin < end; ++bin) middles.push_back((bin + 0.5) * kBin);
  return middles;
}

void transform(std::span<const float> field, FourierMesh& mesh) {
  const auto n = static_cast<std::size_t>(mesh.side());
  mesh.for_each_row([&](int x, int y, float* row) {
    std::copy_n(field.data() + (static_cast<std::size_t>(x) * n + static_cast<std::size_t>(y)) * n, n, row);
  });
  mesh.forward();
}

void FieldSpectra::set_truth(std::span<const float> field) { transform(field, truth_); }

Spectra FieldSpectra::of(std::span<const float> prediction) {
  transform(prediction, prediction_);
  Spectra sums(bins().size());
  for_each_mode([&](std::size_t bin, int, int, int, std::uint64_t modes, const std::complex<double>& p,
                    const std::complex<double>& t) {
    const auto times = static_cast<double>(modes);
    sums[bin].add({times * std::norm(p), times * std::norm(t), times * (p * std::conj(t)).real(), modes});
  });
  return sums;
}

}  // namespace cosmo::fourier
