#pragma once

#include <cstdint>
#include <string>

#include "core/universe/simulation_manifest.hpp"
#include "sim/product/product.hpp"

namespace cosmo::sim {

/// The linear density of z = 0 in voxels (histogram/field_file.hpp): what the universe began with.
class InitialFieldMaker : public Maker {
 public:
  using Maker::Maker;
  void see_field(const fourier::FourierMesh& delta) override;

  static void name_files(core::SimulationRecord& record, const std::string& folder);
  static std::uint64_t disk_bytes(const Extent& extent);
  static std::uint64_t memory_bytes(const Extent& extent, int ranks, int threads);
};

}  // namespace cosmo::sim
