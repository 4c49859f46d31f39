#include "infer/initial/initial_sample.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdlib>
#include <numbers>
#include <numeric>
#include <vector>

#include "core/fourier/field_spectra.hpp"
#include "core/parallel/communicator.hpp"
#include "sim/linear/gaussian_field.hpp"
#include "sim/linear/mode_table.hpp"
#include "sim/linear/noise_file.hpp"

namespace cosmo::infer {

namespace {

using Mode = std::complex<float>;

/// exp(-iπ k/n) for |k| <= limit, which moves a wave from the centres of n cells to their nodes.
std::vector<Mode> phases(int limit, int n) {
  std::vector<Mode> phase;
  for (int k = -limit; k <= limit; ++k) phase.push_back(Mode(std::polar(1.0, -std::numbers::pi * k / n)));
  return phase;
}

/// Brings the values to rms 1; returns what it was. Planes are summed one after another, whichever rank has them.
double bring_to_unit(fourier::FourierMesh& noise) {
  std::vector<double> squares(static_cast<std::size_t>(noise.side()), 0.0);
  for (int x = noise.slab().first; x < noise.slab().last; ++x) {
    for (int y = 0; y < noise.side(); ++y) {
      const float* row = noise.row(x, y);
      for (int z = 0; z < noise.side(); ++z)
        squares[static_cast<std::size_t>(x)] += static_cast<double>(row[z]) * static_cast<double>(row[z]);
    }
  }
  noise.communicator().sum(std::span<double>(squares));  // each plane is one rank's, and 0 on the others
  const double rms =
      std::sqrt(std::accumulate(squares.begin(), squares.end(), 0.0) / std::pow(noise.side(), 3));
  noise.for_each_row([&](int, int, float* row) {
    for (int z = 0; z < noise.side(); ++z) row[z] = static_cast<float>(row[z] / rms);
  });
  return rms;
}

}  // namespace

double sample_noise(fourier::FourierMesh& noise, std::uint64_t seed, const PredictedDensity& density,
                    const nn::FieldPosterior& posterior, const StatedSpectrum& spectrum) {
  const double box = noise.grid().box_size;
  const core::Communicator self = core::Communicator::self();
  fourier::FourierMesh predicted(self, {density.side, box});  // all on this rank
  fourier::transform(density.values, predicted);
  const int limit = (std::min(density.side, noise.side()) - 1) / 2;
  const sim::LinearPower power = spectrum.power();
  const double unit = std::pow(box / noise.side(), 1.5);  // √V of a mode over √N³ of the noise
  const auto wavenumber = [&](double k) { return k / spectrum.wavenumber_unit(); };
  const double variance = spectrum.variance(density.side);
  const sim::ModeTable whitening(noise, [&](double k) {
    return k == 0 ? 0 : posterior.gain_at(wavenumber(k), variance) * unit / std::sqrt(power(k));
  });
  const sim::ModeTable left(
      noise, [&](double k) { return std::sqrt(posterior.power_left_at(wavenumber(k), variance)); });
  const std::vector<Mode> phase = phases(limit, density.side);
  const auto of = [&](int k) { return phase[static_cast<std::size_t>(k + limit)]; };
  sim::white_modes(noise, seed);
  noise.for_each_mode_row([&](int kx, int ky, Mode* modes) {
    if (std::abs(kx) > limit || std::abs(ky) > limit) return;
    const Mode* p = predicted.mode_row(kx, ky);
    for (int kz = 0; kz <= limit; ++kz) {
      if (kx == 0 && ky == 0 && kz == 0) continue;
      modes[kz] = whitening(kx, ky, kz) * p[kz] * (of(kx) * of(ky) * of(kz)) + left(kx, ky, kz) * modes[kz];
    }
  });
  noise.backward();
  return bring_to_unit(noise);
}

void publish_sample(const fourier::FourierMesh& noise, std::uint64_t seed,
                    const std::filesystem::path& path) {
  sim::publish_noise(noise, seed, path);
}

void ensure_place_for_sample(const std::filesystem::path& path, bool force) {
  sim::ensure_replaceable_noise(path, "white-noise", force);
}

}  // namespace cosmo::infer
