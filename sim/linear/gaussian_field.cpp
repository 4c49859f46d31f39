#include "sim/linear/gaussian_field.hpp"

#include <cmath>
#include <compare>
#include <numbers>
#include <utility>

#include "core/random.hpp"
#include "sim/linear/mode_table.hpp"

namespace cosmo::sim {

namespace {

/// White noise at signed wavenumbers.
class WhiteNoise {
 public:
  WhiteNoise(std::uint64_t seed, Amplitude amplitude, int side)
      : stream_(seed, core::Purpose::gaussian_field), amplitude_(amplitude), side_(side) {}

  std::complex<float> operator()(int kx, int ky, int kz) const {
    if (kz != 0 && 2 * kz != side_) return draw(kx, ky, kz, false);
    const std::pair here(kx, ky), conjugate(negative(kx), negative(ky));
    if (here < conjugate) return std::conj(draw(conjugate.first, conjugate.second, kz, false));
    return draw(kx, ky, kz, here == conjugate);
  }

 private:
  /// -k as stored: the Nyquist wavenumber is its own negative.
  int negative(int k) const { return 2 * k == side_ ? k : -k; }

  std::complex<float> draw(int kx, int ky, int kz, bool real) const {
    const auto [u, v] = stream_.normals(
        {static_cast<std::uint32_t>(kx), static_cast<std::uint32_t>(ky), static_cast<std::uint32_t>(kz)});
    const double re = real ? u : u / std::numbers::sqrt2;
    const double im = real ? 0 : v / std::numbers::sqrt2;
    const double length = amplitude_ == Amplitude::fixed ? std::hypot(re, im) : 1;
    return {static_cast<float>(re / length), static_cast<float>(im / length)};
  }

  core::RandomStream stream_;
  Amplitude amplitude_;
  int side_;
};

/// Gives white noise w, which noise(kx, ky, kz, mode) returns for each mode, the spectrum.
template <class Noise>
void colour(fourier::FourierMesh& delta, const LinearPower& power, Partner partner, const Noise& noise) {
  const double volume = std::pow(delta.grid().box_size, 3);
  const ModeTable amplitude(delta, [&](double k) { return std::sqrt(power(k) / volume); });
  const float sign = partner == Partner::flipped ? -1 : 1;
  delta.for_each_mode([&](int kx, int ky, int kz, std::complex<float>& mode) {
    mode = sign * amplitude(kx, ky, kz) * noise(kx, ky, kz, mode);
  });
}

/// sqrt(N³): a mode of unit white noise has the variance 1/N³ as a coefficient of the field.
float unit_mode(const fourier::FourierMesh& mesh) { return static_cast<float>(std::pow(mesh.side(), 1.5)); }

}  // namespace

void gaussian_field(fourier::FourierMesh& delta, const LinearPower& power, std::uint64_t seed,
                    Amplitude amplitude, Partner partner) {
  const WhiteNoise noise(seed, amplitude, delta.side());
  colour(delta, power, partner, [&](int kx, int ky, int kz, auto) { return noise(kx, ky, kz); });
}

void gaussian_field(fourier::FourierMesh& delta, const LinearPower& power, const NoiseFile& file,
                    Amplitude amplitude, Partner partner) {
  read_noise(file, delta);
  delta.forward();
  const float unit = unit_mode(delta);
  colour(delta, power, partner, [=](int, int, int, std::complex<float> mode) {
    return amplitude == Amplitude::fixed ? std::polar(1.0f, std::arg(mode)) : unit * mode;
  });
}

void white_modes(fourier::FourierMesh& noise, std::uint64_t seed) {
  const WhiteNoise modes(seed, Amplitude::random, noise.side());
  const float unit = 1 / unit_mode(noise);
  noise.for_each_mode(
      [&](int kx, int ky, int kz, std::complex<float>& mode) { mode = unit * modes(kx, ky, kz); });
}

void white_noise(fourier::FourierMesh& noise, std::uint64_t seed) {
  white_modes(noise, seed);
  noise.backward();
}

}  // namespace cosmo::sim
