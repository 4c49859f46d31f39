#pragma once
// Masses of a snapshot's particles: whether they are alike, and whether all of them together are the matter of its universe.

#include <cstdint>
#include <optional>
#include <string>

#include "core/parallel/communicator.hpp"
#include "core/universe/cosmology.hpp"
#include "histogram/particles/gadget_snapshot.hpp"

namespace cosmo::histogram {

struct SnapshotMasses {
  bool known = false;          ///< whether the files state the masses of all particles that are counted
  double least = 0, most = 0;  ///< the extremes among those [files' unit]
  double sum = 0;              ///< their sum
  std::optional<double> all;   ///< the sum over all particles [1e10 Msun/h]; nothing if it is not stated

  /// Whether particles that are counted differ in mass.
  bool differ() const { return known && most > (1 + 1e-4) * least; }
};

/// Reads the masses that are stored particle by particle, each rank a part. Sums do not depend on the number of ranks.
/// Collective. Throws Error{format} for a mass that is not positive and finite.
SnapshotMasses survey_masses(const core::Communicator& comm, const GadgetSnapshot& snapshot);

/// Throws Error{config} for particles of unequal mass without --weights.
void ensure_weighted(const GadgetSnapshot& snapshot, const SnapshotMasses& masses, ParticleWeights weights);

/// The density of all particles in units of the critical one; nothing if masses are not stated.
std::optional<double> density_of(const GadgetSnapshot& snapshot, const SnapshotMasses& masses);
/// That density where it differs by more than 1 % from that of matter in a universe, with the likely cause: a sentence without
/// a full stop.
std::optional<std::string> closure_remark(double density, const core::Cosmology& cosmology);

/// "4096 particles of type 2" that are not counted; empty if there are none.
std::string types_not_counted(const GadgetSnapshot& snapshot);

/// What a count stands for in counts of mass: the least mass if every mass is a multiple of it, otherwise the mean.
struct MassUnit {
  double mass;               ///< what one count stands for [files' unit]
  std::uint64_t counts = 0;  ///< the sum over the box
};
/// Collective.
MassUnit mass_unit_of(const core::Communicator& comm, const GadgetSnapshot& snapshot,
                      const SnapshotMasses& masses);

}  // namespace cosmo::histogram
