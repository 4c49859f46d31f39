#pragma once

#include <atomic>

#include "sim/gravity/particle_set.hpp"
#include "sim/gravity/vector4.hpp"

namespace cosmo::sim {

/// Wraps positions into the periodic box.
class Wrap {
 public:
  explicit Wrap(double box) : box_(static_cast<float>(box)), inverse_(1 / box_) {}

  /// x in [0, L). Sets `stray` if a component is not a finite number; the result is then meaningless.
  Vector4 operator()(const Vector4& x, std::atomic<bool>& stray) const {
    // x / L just below a whole number may round to it: the result is then a little less than 0.
    const Vector4 rest = x - box_ * floor(x * inverse_);
    const Vector4 wrapped = rest < 0.0f ? rest + box_ : rest;
    const auto good = wrapped >= 0.0f && wrapped <= box_;
    if (!(good[0] && good[1] && good[2])) stray.store(true, std::memory_order_relaxed);
    return wrapped < box_ ? wrapped : Vector4{};  // rounding may give the box size itself
  }

 private:
  float box_, inverse_;
};

/// Sends every particle to the rank whose slab of `grid` contains its x. Collective. Throws Error{numeric} on all
/// ranks if any has `stray` positions.
void settle(ParticleSet& particles, bool stray, const core::Communicator& comm, const core::GridSpec& grid);

}  // namespace cosmo::sim
