#include "sim/nbody/tracers.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <span>
#include <vector>

#include "core/random.hpp"

namespace cosmo::sim {

namespace {

/// A number that depends on every bit of another: the finaliser of SplitMix64 (Steele et al. 2014, doi:10.1145/2660193.2660195).
std::uint64_t scrambled(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace

Tracers::Tracers(std::uint64_t seed, std::uint64_t particles, std::uint64_t chosen)
    : particles_(particles),
      chosen_(chosen),
      half_bits_(std::max(1, (static_cast<int>(std::bit_width(particles - 1)) + 1) / 2)) {
  const core::RandomStream stream(seed, core::Purpose::tracers);
  for (std::size_t round = 0; round < keys_.size(); ++round) {
    const auto words = stream.words({static_cast<std::uint32_t>(round), 0, 0});
    keys_[round] = (std::uint64_t{words[0]} << 32) | words[1];
  }
}

std::uint64_t Tracers::permuted(std::uint64_t number) const {
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  std::uint64_t left = number >> half_bits_, right = number & mask;
  for (const std::uint64_t key : keys_) {
    const std::uint64_t next = left ^ (scrambled(right ^ key) & mask);
    left = right;
    right = next;
  }
  return (left << half_bits_) | right;
}

std::uint64_t Tracers::place_of(std::uint64_t particle) const {
  std::uint64_t place = permuted(particle);
  while (place >= particles_) place = permuted(place);
  return place;
}

core::Buffer<float> Tracers::positions(const ParticleSet& particles) const {
  const std::span<const float> x = particles.x();
  const std::span<const std::uint64_t> ids = particles.ids();
  const std::size_t size = particles.size();
  std::vector<std::uint32_t> found;  // a rank has fewer than 2^31 particles to begin with
#pragma omp parallel
  {
    std::vector<std::uint32_t> own;
#pragma omp for schedule(static) nowait
    for (std::size_t i = 0; i < size; ++i)
      if (contain(ids.empty() ? i : ids[i])) own.push_back(static_cast<std::uint32_t>(i));
#pragma omp critical
    found.insert(found.end(), own.begin(), own.end());
  }
  core::Buffer<float> positions(3 * found.size());
#pragma omp parallel for schedule(static)
  for (std::size_t t = 0; t < found.size(); ++t)
    std::copy_n(&x[3 * std::size_t{found[t]}], 3, &positions.span()[3 * t]);
  return positions;
}

}  // namespace cosmo::sim
