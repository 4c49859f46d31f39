#pragma once

#include <cstdint>
#include <string>

#include "core/universe/simulation_manifest.hpp"
#include "sim/product/product.hpp"

namespace cosmo::sim {

/// Momenta of voxels at each redshift (histogram/field_file.hpp).
class VelocityMaker : public Maker {
 public:
  using Maker::Maker;
  void see(const Output& output) override;

  static void name_files(core::SimulationRecord& record, const std::string& folder);
  static std::uint64_t disk_bytes(const Extent& extent);
  static std::uint64_t memory_bytes(const Extent& extent, int ranks, int threads);
};

}  // namespace cosmo::sim
