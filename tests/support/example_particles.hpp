#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

#include "core/parallel/communicator.hpp"
#include "core/universe/snapshot.hpp"

/// A lattice of n³ particles that waves displace, as a simulation may spread them over its ranks.
class ExampleParticles {
 public:
  /// Particle `index` of the lattice; its momentum is 0 on average.
  static void place(std::uint64_t index, std::uint64_t n, double box, float* x, float* p) {
    const std::array<std::uint64_t, 3> q = {index / n / n, index / n % n, index % n};
    for (std::size_t c = 0; c < 3; ++c) {
      const double spacing = box / static_cast<double>(n);
      const double phase =
          2 * std::numbers::pi / static_cast<double>(n) * static_cast<double>(q[c]) + static_cast<double>(c);
      const double at = static_cast<double>(q[c]) * spacing + 2.2 * spacing * std::sin(phase);
      x[c] = static_cast<float>(at - box * std::floor(at / box));
      p[c] = static_cast<float>(1.5 * std::cos(phase));
    }
  }

  /// In order, in unequal parts; or scattered, so that every rank holds particles from everywhere.
  ExampleParticles(const cosmo::core::Communicator& comm, std::uint64_t n, double box, bool scattered)
      : scattered_(scattered) {
    const auto ranks = static_cast<std::uint64_t>(comm.size()),
               rank = static_cast<std::uint64_t>(comm.rank());
    const std::uint64_t total = n * n * n;
    const auto bound = [&](std::uint64_t r) { return total * r * r / ranks / ranks; };
    for (std::uint64_t i = 0; i < total; ++i) {
      const std::uint64_t index = scattered ? total - 1 - i : i;
      const bool mine = scattered ? index * 2654435761u % (1u << 20) % ranks == rank
                                  : index >= bound(rank) && index < bound(rank + 1);
      if (!mine) continue;
      index_.push_back(index);
      positions_.resize(positions_.size() + 3);
      momenta_.resize(momenta_.size() + 3);
      place(index, n, box, &positions_[positions_.size() - 3], &momenta_[momenta_.size() - 3]);
    }
  }

  std::vector<float>& positions() { return positions_; }
  std::vector<float>& momenta() { return momenta_; }
  std::vector<std::uint64_t>& index() { return index_; }

  cosmo::core::SnapshotParticles view() const {
    cosmo::core::SnapshotParticles particles{positions_, momenta_, {}};
    if (scattered_) particles.index = [this](std::size_t i) { return index_[i]; };
    return particles;
  }

 private:
  bool scattered_;
  std::vector<float> positions_, momenta_;
  std::vector<std::uint64_t> index_;
};
