#pragma once

#include <cstdint>
#include <string>

#include "core/universe/simulation_manifest.hpp"
#include "sim/product/product.hpp"

namespace cosmo::sim {

/// Snapshots of all particles at each redshift (core/universe/snapshot.hpp).
class ParticlesMaker : public Maker {
 public:
  using Maker::Maker;
  void see(const Output& output) override;

  static void name_files(core::SimulationRecord& record, const std::string& folder);
  static std::uint64_t disk_bytes(const Extent& extent);
  /// Blocks of 2^19 particles, and with several ranks the order of all, and parcels of 32 bytes that are sent and
  /// received, with MPI's share of them as measured.
  static std::uint64_t memory_bytes(const Extent& extent, int ranks, int threads);
};

}  // namespace cosmo::sim
