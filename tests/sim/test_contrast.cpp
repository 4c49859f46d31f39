// The density contrast of particles at the centres of voxels.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "sim/voxels/contrast.hpp"

using namespace cosmo;

namespace {

constexpr int kSide = 6;
constexpr double kBox = 30;

/// The contrast by cloud in cell, term by term.
std::vector<double> expected(const std::vector<float>& x, double shift) {
  const double cell = kBox / kSide, particles = static_cast<double>(x.size()) / 3;
  std::vector<double> contrast(kSide * kSide * kSide, -1);
  for (std::size_t i = 0; i < x.size(); i += 3) {
    for (int corner = 0; corner < 8; ++corner) {
      double weight = 1;
      std::size_t place = 0;
      for (std::size_t axis = 0; axis < 3; ++axis) {
        const double at = (static_cast<double>(x[i + axis]) + shift) / cell - 0.5, below = std::floor(at);
        const int up = corner >> axis & 1;
        weight *= up ? at - below : 1 - (at - below);
        place = place * kSide + static_cast<std::size_t>(core::wrapped(static_cast<int>(below) + up, kSide));
      }
      contrast[place] += weight * kSide * kSide * kSide / particles;
    }
  }
  return contrast;
}

void check(const std::vector<float>& all, double shift, double tolerance) {
  const auto comm = core::Communicator::world();
  const core::Slab share = core::slab_of(static_cast<int>(all.size() / 3), comm.rank(), comm.size());
  const std::vector<float> own(all.begin() + 3 * share.first, all.begin() + 3 * share.last);
  fourier::FourierMesh mesh(comm, {kSide, kBox});
  sim::contrast_at_centres(own, shift, mesh);
  const std::vector<double> truth = expected(all, shift);
  double worst = 0;
  for (int x = mesh.slab().first; x < mesh.slab().last; ++x) {
    for (int y = 0; y < kSide; ++y) {
      for (int z = 0; z < kSide; ++z)
        worst = std::max(worst, std::abs(static_cast<double>(mesh.row(x, y)[z]) -
                                         truth[static_cast<std::size_t>((x * kSide + y) * kSide + z)]));
    }
  }
  CHECK(comm.max(worst) < tolerance);
}

}  // namespace

TEST_CASE("particles anywhere are clouds around the centres of voxels") {
  std::vector<float> x;
  for (int i = 0; i < 3 * 500; ++i)
    x.push_back(static_cast<float>(kBox * std::fmod(i * 0.7548776662466927, 1)));
  for (const double shift : {0.0, 1.25, 2.5}) check(x, shift, 1e-5);
  check({0, 0, 0, 29.999f, 15, 2.5f, 7.5f, 7.5f, 7.5f}, 0, 1e-4);
}

TEST_CASE("more particles in a voxel than the finest quanta have room for") {
  std::vector<float> x(3 * 20000, 12.0f);  // 2^32 / 2^21 = 2048
  for (std::size_t i = 0; i < 3000; ++i) x[i] = static_cast<float>(i % 29);
  check(x, 0, 1e-2);
}
