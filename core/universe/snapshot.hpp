#pragma once
// snapshot_z0.hdf5: the particles of one universe at one redshift, in one file in Gadget-4's layout.
//
//   /PartType1/Coordinates   float32 (N, 3)  comoving, in [0, L) [Mpc/h]
//   /PartType1/Velocities    float32 (N, 3)  peculiar velocity / sqrt(a) [km/s]
//   /PartType1/ParticleIDs   uint64  (N)     1, 2, … N; 1 + (qx n + qy) n + qz on the Lagrangian lattice n³
//   attributes of /Header      NumPart_ThisFile, NumPart_Total (6: all are of type 1), NumFilesPerSnapshot,
//                              MassTable (6) [1e10 Msun/h], BoxSize [Mpc/h], Time (a), Redshift, Omega0,
//                              OmegaLambda, OmegaBaryon, HubbleParam, Flag_…
//   attributes of /Parameters  the same cosmology, BoxSize, and the units, where Gadget-4 has them
//   attributes of /Units       UnitLength_in_cm, UnitMass_in_g, UnitVelocity_in_cm_per_s, where yt and
//                              pynbody look for them
//   attributes of the file     schema "cosmo.snapshot/1", seed, parameter_names, parameter_values,
//                              code_version; redshift_space (x, y or z) if positions are in redshift space
//
// All arrays are contiguous. Equal particles give equal bytes, whatever the number of ranks.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "core/hdf5/hdf5.hpp"
#include "core/parallel/communicator.hpp"
#include "core/universe/universe.hpp"

namespace cosmo::core {

inline constexpr std::string_view kSnapshotSchema = "cosmo.snapshot/1";

/// A rank's share of the particles. Spans have shape (n, 3).
struct SnapshotParticles {
  std::span<const float> positions;  ///< comoving, in [0, L] [Mpc/h]; L itself is written as 0
  std::span<const float> momenta;    ///< p = a² dx/dt / H0 [Mpc/h]
  /// The Lagrangian index (qx n + qy) n + qz of the rank's i-th particle. Empty (on all ranks) if the ranks
  /// hold the particles in that order already, rank after rank.
  std::function<std::uint64_t(std::size_t i)> index = {};
};

/// Writes all ranks' particles in the order of their indices, however they are distributed over the ranks.
/// Velocities are converted from momenta: 100 km/s p / a is the peculiar velocity. Collective over comm.
///
/// Memory besides the particles: 28 bytes for each of 2^19 particles; with `index` also 4 bytes per particle
/// and 64 bytes for each one under way in a round: a rank receives at most 2^19, and sends about the same
/// number as long as ranks hold similar shares of each range of indices.
/// Throws, on every rank, Error{numeric} for a position outside the box or a number that is not finite,
/// Error{io} if writing fails, Error{internal} unless the indices are 0 … N - 1, each once.
void write_snapshot(const Communicator& comm, const std::filesystem::path& path, const OutputHeader& header,
                    const SnapshotParticles& particles);

/// A snapshot open for reading by this rank alone; move-only.
class Snapshot {
 public:
  /// Throws Error{io} if the file is missing, Error{format} if it is not a snapshot of version 1, if its
  /// counts, shapes, types, masses, time, parameters or units disagree, or if check() fails.
  explicit Snapshot(const std::filesystem::path& path);

  const OutputHeader& header() const { return header_; }
  /// The positions (n, 3) [Mpc/h] of the particles from row `first` on.
  void read_positions(std::uint64_t first, std::span<float> positions) const;
  /// The peculiar velocities (n, 3) [km/s] of the particles from row `first` on.
  void read_velocities(std::uint64_t first, std::span<float> velocities) const;
  /// The IDs (n) of the particles from row `first` on: index + 1.
  void read_ids(std::uint64_t first, std::span<std::uint64_t> ids) const;

 private:
  hdf5::File file_;
  OutputHeader header_;
  hdf5::Dataset positions_, velocities_, ids_;
};

}  // namespace cosmo::core
