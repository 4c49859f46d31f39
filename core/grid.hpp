#pragma once

#include <cstddef>

namespace cosmo::core {

/// A periodic cubic grid.
struct GridSpec {
  int cells_per_side;
  double box_size;  ///< [Mpc/h]

  double cell_size() const { return box_size / cells_per_side; }  ///< [Mpc/h]
  std::size_t cells() const {
    const auto n = static_cast<std::size_t>(cells_per_side);
    return n * n * n;
  }
};

/// Consecutive planes first <= i < last of a grid's or a tensor's slowest axis. Where something lies around it (padding, or
/// the opposite side), planes may be negative or beyond its end.
struct Slab {
  int first;
  int last;

  int size() const { return last - first; }
  bool contains(int plane) const { return plane >= first && plane < last; }
  bool operator==(const Slab&) const = default;
};

/// The plane of a periodic grid with `planes` planes that lies at `plane`, which may be anything.
inline int wrapped(int plane, int planes) { return (plane % planes + planes) % planes; }

/// The slab that `part` of `parts` owns when `planes` are divided as evenly as possible.
inline Slab slab_of(int planes, int part, int parts) {
  const auto bound = [&](int p) { return static_cast<int>(static_cast<long>(planes) * p / parts); };
  return {bound(part), bound(part + 1)};
}

/// The part whose slab contains `plane`.
inline int owner_of(int planes, int plane, int parts) {
  int part = static_cast<int>(static_cast<long>(plane) * parts / planes);
  while (plane >= slab_of(planes, part, parts).last) ++part;
  return part;
}

}  // namespace cosmo::core
