// The classes of densities whose tidal tensor is known.
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

#include "core/fourier/web_finder.hpp"

using namespace cosmo;
using fourier::FourierMesh;
using Waves = std::vector<std::array<int, 3>>;

namespace {

constexpr double kBox = 128, kRadius = 4;

double phase_of(const std::array<int, 3>& k, int x, int y, int z, int n) {
  return 2 * std::numbers::pi * (k[0] * x + k[1] * y + k[2] * z) / n + 0.3;
}

/// Checks the classes of a sum of waves at right angles: the eigenvalues are the waves, smoothed, and zeros for the other axes.
void check_waves(int n, const Waves& waves, double threshold) {
  const auto comm = core::Communicator::world();
  const double fundamental = 2 * std::numbers::pi / kBox;
  const auto amplitude = [](std::size_t i) { return 1.5 - 0.4 * static_cast<double>(i); };
  FourierMesh delta(comm, {n, kBox});
  delta.for_each_row([&](int x, int y, float* row) {
    for (int z = 0; z < n; ++z) {
      double sum = 0;
      for (std::size_t i = 0; i < waves.size(); ++i)
        sum += amplitude(i) * std::cos(phase_of(waves[i], x, y, z, n));
      row[z] = static_cast<float>(sum);
    }
  });
  const std::vector<std::uint8_t> classes = fourier::web_classes(delta, {kRadius, threshold});
  std::size_t place = 0, close = 0, wrong = 0;
  std::array<std::size_t, 4> found = {};
  for (int x = delta.slab().first; x < delta.slab().last; ++x) {
    for (int y = 0; y < n; ++y) {
      for (int z = 0; z < n; ++z, ++place) {
        int above = threshold < 0 ? 3 - static_cast<int>(waves.size()) : 0;
        bool sure = true;
        for (std::size_t i = 0; i < waves.size(); ++i) {
          const auto& k = waves[i];
          const double square = std::pow(fundamental, 2) * (k[0] * k[0] + k[1] * k[1] + k[2] * k[2]);
          const double value =
              amplitude(i) * std::exp(-square * kRadius * kRadius / 2) * std::cos(phase_of(k, x, y, z, n));
          above += value > threshold;
          sure = sure && std::abs(value - threshold) > 1e-5;
        }
        close += !sure;
        wrong += sure && classes[place] != above;
        ++found[classes[place]];
      }
    }
  }
  CAPTURE(n, waves.size(), threshold);
  CHECK(comm.sum(wrong) == 0);
  CHECK(comm.sum(close) < classes.size() / 50 + 1);
  if (waves.size() == 3) {
    for (const std::size_t voxels : found) CHECK(comm.sum(voxels) > 0);
  }
}

}  // namespace

TEST_CASE("a plane wave has one eigenvalue, the smoothed density") {
  for (const int n : {16, 15}) {
    check_waves(n, {{1, 0, 0}}, 0.2);
    check_waves(n, {{1, 2, 2}}, 0.1);
    check_waves(n, {{0, 2, -1}}, -0.1);
  }
}

TEST_CASE("crossed waves make all classes, whichever way they lie") {
  for (const int n : {16, 15}) {
    check_waves(n, {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, 0.2);
    check_waves(n, {{1, 2, 2}, {2, 1, -2}, {2, -2, 1}}, 0.1);
    check_waves(n, {{1, 1, 0}, {1, -1, 0}}, -0.05);
  }
}

TEST_CASE("a ball collapses along all axes, each with a third of its density") {
  const auto comm = core::Communicator::world();
  constexpr int n = 32;
  constexpr double kWidth = 10, kPeak = 3;
  // Gaussians widen when they are smoothed; the mean has no part in the tensor.
  const double wide = std::sqrt(kWidth * kWidth + kRadius * kRadius);
  const double mean = kPeak * std::pow(std::sqrt(2 * std::numbers::pi) * kWidth / kBox, 3);
  const double third = (kPeak * std::pow(kWidth / wide, 3) - mean) / 3;
  for (const double relative : {0.999, 1.001}) {
    FourierMesh delta(comm, {n, kBox});
    delta.for_each_row([&](int x, int y, float* row) {
      for (int z = 0; z < n; ++z) {
        const double square = std::pow(x - n / 2, 2) + std::pow(y - n / 2, 2) + std::pow(z - n / 2, 2);
        row[z] = static_cast<float>(kPeak * std::exp(-square * std::pow(kBox / n / kWidth, 2) / 2));
      }
    });
    const auto classes = fourier::web_classes(delta, {kRadius, relative * third});
    if (!delta.slab().contains(n / 2)) continue;
    const auto centre = static_cast<std::size_t>((n / 2 - delta.slab().first) * n * n + n / 2 * n + n / 2);
    CHECK(classes[centre] == (relative < 1 ? 3 : 0));
  }
}
