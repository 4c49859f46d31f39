#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/format/json.hpp"
#include "core/log.hpp"
#include "core/run/options.hpp"
#include "core/universe/cosmology.hpp"
#include "core/universe/simulation_manifest.hpp"
#include "sim/plan/box.hpp"
#include "sim/product/product.hpp"
#include "sim/simulation.hpp"

namespace cosmo::sim {

/// What is written of each universe.
struct Products {
  std::vector<const Product*> list;  ///< rows of kProducts, in its order
  int voxels = 0;                    ///< --grid, per side; 0 if nothing is on voxels
  int pack = 0;                      ///< --pack: universes in a file; 0 if each has files of its own

  static void declare(core::Options& options);
  /// Throws Error{usage} or Error{config} naming the option.
  static Products read(const core::Options& options, const Box& box);
  /// Warns where counts would be wrong, because too few particles have left their voxels.
  void warn(const core::Log& log, const SimulationConfig& config, const core::Cosmology& cosmology) const;
  void identify(core::Json& config) const;
  /// "counts on 128³ voxels, power spectrum"
  std::string describe() const;

  bool has(std::string_view name) const;
  /// What outputs must have besides positions.
  Contents contents() const;
  /// Enters the paths of all files in a universe's record, which has the redshifts, and its row in its pack.
  void name_files(core::SimulationRecord& record) const;
  /// Size of the files of one universe [bytes].
  std::uint64_t disk_bytes(const SimulationConfig& config) const;
  /// Memory that a rank takes to make them of an output [bytes].
  std::uint64_t memory_bytes(const SimulationConfig& config, int ranks, int threads) const;
  std::vector<std::unique_ptr<Maker>> makers(UniverseFiles& files) const;
};

}  // namespace cosmo::sim
