#pragma once
// The contract between cosmo-sim and the stages after it: manifest.json of stage "generate".

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/cosmology.hpp"
#include "core/length.hpp"
#include "core/manifest.hpp"

namespace cosmo::core {

/// The parameters that vary over a suite: what a network learns.
struct ParameterSpace {
  std::vector<std::string> names;
  std::vector<double> low;
  std::vector<double> high;

  std::size_t size() const { return names.size(); }
};

/// One universe of a suite.
struct SimulationRecord {
  std::uint32_t index;
  std::uint64_t seed;  ///< of its initial conditions
  Cosmology cosmology;
  std::string counts;  ///< path of its counts at z = 0, relative to the suite's directory
};

struct SimulationManifest {
  Manifest base;
  ParameterSpace parameters;
  Length box_size;  ///< the same for all universes in its unit
  int grid;         ///< count voxels a side
  std::vector<SimulationRecord> simulations;

  /// The stage's own fields of manifest.json.
  Json details() const;
};

void to_json(Json& json, const ParameterSpace& space);
void from_json(const Json& json, ParameterSpace& space);

/// Throws as load_manifest does.
SimulationManifest load_simulation_manifest(const std::filesystem::path& directory);

}  // namespace cosmo::core
