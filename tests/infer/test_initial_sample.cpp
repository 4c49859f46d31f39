#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <complex>
#include <numbers>
#include <vector>

#include "core/fourier/resample.hpp"
#include "infer/initial/initial_sample.hpp"
#include "infer/initial/mode_coverage.hpp"
#include "sim/linear/gaussian_field.hpp"

using namespace cosmo;

namespace {

constexpr double kBox = 256;
constexpr int kVoxels = 16, kParticles = 40;
const infer::StatedSpectrum kSpectrum{{}, {}, core::Length(kBox)};

/// The values of a mesh, z fastest.
std::vector<float> values_of(const fourier::FourierMesh& mesh) {
  std::vector<float> values;
  for (int x = 0; x < mesh.side(); ++x) {
    for (int y = 0; y < mesh.side(); ++y)
      values.insert(values.end(), mesh.row(x, y), mesh.row(x, y) + mesh.side());
  }
  return values;
}

/// The density of a seed at the centres of voxels.
std::vector<float> density_of(const core::Communicator& comm, std::uint64_t seed, int particles, int voxels) {
  fourier::FourierMesh delta(comm, {particles, kBox}), centres(comm, {voxels, kBox});
  sim::gaussian_field(delta, kSpectrum.power(), seed);
  fourier::resample_at_centres(delta, centres);
  centres.backward();
  return values_of(centres);
}

nn::FieldPosterior posterior_of(double gain, double left) {
  return {{0.1, 0.3}, {gain, gain}, {0, 0}, {left, left}, 1, 0, 1};
}

/// Largest |a - factor b| of the modes that `chosen` selects, over the rms of b's.
template <class Chosen>
double distance(fourier::FourierMesh& a, fourier::FourierMesh& b, double factor, const Chosen& chosen) {
  double largest = 0, squares = 0, modes = 0;
  for (int kx = -a.side() / 2 + 1; kx <= a.side() / 2; ++kx) {
    for (int ky = -a.side() / 2 + 1; ky <= a.side() / 2; ++ky) {
      for (int kz = 0; kz <= a.side() / 2; ++kz) {
        if (!chosen(std::max({std::abs(kx), std::abs(ky), kz}))) continue;
        const std::complex<double> one = a.mode_row(kx, ky)[kz], other = b.mode_row(kx, ky)[kz];
        largest = std::max(largest, std::abs(one - factor * other));
        squares += std::norm(other);
        ++modes;
      }
    }
  }
  return largest / std::sqrt(squares / modes);
}

}  // namespace

TEST_CASE(
    "the true density with nothing left to chance is the noise of its seed, and other waves are those asked for") {
  const core::Communicator comm = core::Communicator::self();
  for (const int particles : {kParticles, kVoxels, 11}) {
    CAPTURE(particles);
    fourier::FourierMesh sample(comm, {particles, kBox}), own(comm, {particles, kBox}),
        other(comm, {particles, kBox});
    const std::vector<float> density = density_of(comm, 7, kParticles, kVoxels);
    const double rms = infer::sample_noise(sample, 8, {density, kVoxels}, posterior_of(1, 0), kSpectrum);
    double squares = 0;
    for (const float value : values_of(sample)) squares += double{value} * double{value};
    CHECK(squares == Approx(std::pow(particles, 3)).epsilon(1e-6));
    CHECK(rms == Approx(1).margin(5 / std::sqrt(2 * std::pow(particles, 3))));
    sample.forward();
    sim::white_modes(own, 7);
    sim::white_modes(other, 8);
    const int limit = (std::min(kVoxels, particles) - 1) / 2;
    CHECK(distance(sample, own, 1 / rms, [=](int k) { return k > 0 && k <= limit; }) < 1e-4);
    if (particles > kVoxels)
      CHECK(distance(sample, other, 1 / rms, [=](int k) { return k > limit && 2 * k < particles; }) < 1e-5);
  }
}

TEST_CASE("a wave seen at the centres of voxels keeps its place at the nodes of the noise") {
  const core::Communicator comm = core::Communicator::self();
  const double k = 2 * std::numbers::pi / kBox, voxel = kBox / kVoxels;
  std::vector<float> density;
  for (int x = 0; x < kVoxels; ++x) {
    for (int y = 0; y < kVoxels; ++y) {
      for (int z = 0; z < kVoxels; ++z)
        density.push_back(
            static_cast<float>(std::cos(k * voxel * (3 * (x + 0.5) - 2 * (y + 0.5) + 5 * (z + 0.5)) + 0.4)));
    }
  }
  fourier::FourierMesh sample(comm, {kParticles, kBox});
  const double rms = infer::sample_noise(sample, 8, {density, kVoxels}, posterior_of(0.5, 0), kSpectrum);
  sample.forward();
  const std::complex<double> mode = sample.mode_row(3, -2)[5];
  const double power = kSpectrum.power()(k * std::sqrt(38));
  CHECK(std::arg(mode) == Approx(0.4).epsilon(1e-4));
  CHECK(std::abs(mode) * rms ==
        Approx(0.5 * 0.5 * std::sqrt(std::pow(kBox / kParticles, 3) / power)).epsilon(1e-4));
}

TEST_CASE("without a prediction a sample is its seed's noise, and of half a prediction it is half of each") {
  const core::Communicator comm = core::Communicator::self();
  const std::vector<float> density = density_of(comm, 7, kParticles, kVoxels);
  fourier::FourierMesh sample(comm, {kParticles, kBox}), own(comm, {kParticles, kBox}),
      truth(comm, {kParticles, kBox});
  double rms = infer::sample_noise(sample, 8, {density, kVoxels}, posterior_of(0, 1), kSpectrum);
  sample.forward();
  sim::white_modes(own, 8);
  const auto inside = [](int k) { return k > 0 && k < kVoxels / 2; };
  CHECK(distance(sample, own, 1 / rms, inside) < 1e-5);
  rms = infer::sample_noise(sample, 8, {density, kVoxels}, posterior_of(0.5, 0.25), kSpectrum);
  sample.forward();
  sim::white_modes(truth, 7);
  own.for_each_mode([&](int kx, int ky, int kz, std::complex<float>& mode) {
    mode = 0.5f * (mode + truth.mode_row(kx, ky)[kz]);
  });
  CHECK(distance(sample, own, 1 / rms, inside) < 1e-4);
}

TEST_CASE("modes with the stated variance are inside their regions as often as stated") {
  const core::Communicator comm = core::Communicator::self();
  fourier::FieldSpectra spectra(32, kBox);
  std::vector<std::vector<infer::CoverSums>> universes;
  for (std::uint64_t u = 0; u < 8; ++u) {
    spectra.set_truth(density_of(comm, 2 * u + 1, 32, 32));
    (void)spectra.of(density_of(comm, 2 * u + 2, 32, 32));
    universes.push_back(infer::covered(spectra, posterior_of(-0.5, 1), kSpectrum));  // t + p/2: 1.25 P
  }
  const infer::ModeCoverage coverage = infer::coverage_of(universes);
  CHECK(coverage.all == Approx(1 - std::pow(1 - infer::CoverSums::kLevel, 1 / 1.25)).margin(0.005));
  CHECK(coverage.all_se < 0.005);
}

TEST_CASE("the variance of voxels is that of the field") {
  const core::Communicator comm = core::Communicator::self();
  double sum = 0;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    for (const float value : density_of(comm, seed, kParticles, kVoxels))
      sum += double{value} * double{value};
  }
  CHECK(kSpectrum.variance(kVoxels) == Approx(sum / 8 / std::pow(kVoxels, 3)).epsilon(0.03));
}
