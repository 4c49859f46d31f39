#pragma once

#include <cstdint>
#include <string>

#include "core/universe/simulation_manifest.hpp"
#include "sim/product/product.hpp"

namespace cosmo::sim {

/// The class of each voxel at each redshift, from all particles in real space (histogram/field_file.hpp).
class WebMaker : public Maker {
 public:
  /// Throws Error{config}, on every rank, if the ranks of the universe cannot share its voxels.
  explicit WebMaker(UniverseFiles& files);
  void see_real(const Output& output) override;

  static void name_files(core::SimulationRecord& record, const std::string& folder);
  static std::uint64_t disk_bytes(const Extent& extent);
  static std::uint64_t memory_bytes(const Extent& extent, int ranks, int threads);
};

}  // namespace cosmo::sim
