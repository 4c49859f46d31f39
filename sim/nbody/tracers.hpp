#pragma once

#include <array>
#include <cstdint>

#include "core/buffer.hpp"
#include "sim/gravity/particle_set.hpp"

namespace cosmo::sim {

/// A random choice of `chosen` of `particles` particles: a pure function of the seed, so that universes of one seed have the same
/// tracers at all redshifts, and fewer of them are a part of more.
///
/// A particle is a tracer if its place in a random order of all particles is below `chosen`. The order is a permutation that needs
/// no memory: a Feistel network over the next power of 4 (Luby & Rackoff 1988, doi:10.1137/0217022), repeated until it is again the
/// number of a particle (Black & Rogaway 2002, doi:10.1007/3-540-45760-7_9, "cycle walking").
class Tracers {
 public:
  Tracers(std::uint64_t seed, std::uint64_t particles, std::uint64_t chosen);

  /// Whether particle (qx N + qy) N + qz is one.
  bool contain(std::uint64_t particle) const { return place_of(particle) < chosen_; }
  /// Its place in the order, below `particles`.
  std::uint64_t place_of(std::uint64_t particle) const;

  /// The positions (M, 3) of this rank's tracers among its particles, which have ids() where there are several ranks.
  core::Buffer<float> positions(const ParticleSet& particles) const;

 private:
  static constexpr int kRounds = 6;

  std::uint64_t permuted(std::uint64_t number) const;

  std::uint64_t particles_, chosen_;
  int half_bits_;
  std::array<std::uint64_t, kRounds> keys_;
};

}  // namespace cosmo::sim
