#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>

#include "sim/gravity/group.hpp"
#include "sim/gravity/particle_set.hpp"

namespace cosmo::sim {

/// Wraps positions into the periodic box.
class Wrap {
 public:
  explicit Wrap(double box) : box_(static_cast<float>(box)), inverse_(1 / box_) {}

  /// x in [0, L). Sets `stray` if a component is not a finite number; the result is then meaningless.
  Vector4 operator()(const Vector4& x, std::atomic<bool>& stray) const {
    const Vector4 wrapped = shift(x);
    const auto good = wrapped >= 0.0f && wrapped <= box_;
    if (!(good[0] && good[1] && good[2])) stray.store(true, std::memory_order_relaxed);
    return below_box(wrapped);
  }
  Vectors operator()(const Vectors& x, std::atomic<bool>& stray) const {
    const Vectors wrapped = {shift(x.x), shift(x.y), shift(x.z)};
    const auto is_inside = [this](const Component& c) { return c >= 0.0f && c <= box_; };
    const auto good = is_inside(wrapped.x) & is_inside(wrapped.y) & is_inside(wrapped.z);
    if (!all(good)) stray.store(true, std::memory_order_relaxed);
    return {below_box(wrapped.x), below_box(wrapped.y), below_box(wrapped.z)};
  }

 private:
  // x / L just below a whole number may round to it: the result is then a little less than 0.
  template <class V>
  V shift(const V& x) const {
    const V rest = x - box_ * floor(x * inverse_);
    return rest < 0.0f ? rest + box_ : rest;
  }
  template <class V>
  V below_box(const V& x) const {
    return x < box_ ? x : V{};  // rounding may give the box size itself
  }
  /// Whether all lanes, of 0 or -1, are -1.
  template <class Mask>
  static bool all(const Mask& lanes) {
    std::array<std::int64_t, sizeof(Mask) / sizeof(std::int64_t)> words;
    std::memcpy(words.data(), &lanes, sizeof lanes);
    std::int64_t every = -1;
    for (const std::int64_t word : words) every &= word;
    return every == -1;
  }

  float box_, inverse_;
};

/// Sends every particle to the rank whose slab of `grid` contains its x. Collective. Throws Error{numeric} on all
/// ranks if any has `stray` positions.
void settle(ParticleSet& particles, bool stray, const core::Communicator& comm, const core::GridSpec& grid);

}  // namespace cosmo::sim
