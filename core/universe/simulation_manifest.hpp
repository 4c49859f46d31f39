#pragma once
// The contract between cosmo-sim and the stages after it: manifest.json of stage "generate".

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/output/manifest.hpp"
#include "core/universe/facts.hpp"
#include "core/universe/length.hpp"
#include "core/universe/universe.hpp"

namespace cosmo::core {

/// Files of a universe at one redshift: paths relative to the suite's directory, empty for what is not
/// saved. In a suite of packs the path of the pack.
struct SimulationOutput {
  double redshift;
  std::string counts;
  std::string snapshot;
  std::string velocity = {};
  std::string web = {};
};

/// One universe of a suite, and its files.
struct SimulationRecord {
  std::uint32_t index;
  Universe universe;
  std::vector<SimulationOutput> outputs;  ///< lowest redshift first
  std::string power_spectrum;             ///< path of the table for all redshifts, or empty
  std::string correlation_function = {};  ///< the same of the correlation function
  std::string bispectrum = {};            ///< the same of the bispectrum
  Facts settings = {};                    ///< facts on this universe that are not true of all of the suite
  std::optional<std::size_t> row = {};    ///< its place in its pack, if the suite has packs
  std::string initial = {};               ///< path of its initial field, or empty

  /// Places its counts and its power spectrum in a pack of `size` universes.
  void pack(std::size_t size);
  /// Every file of the universe: counts, snapshots, fields, then the tables.
  std::vector<std::string> files() const;
  /// The counts at a redshift. If the suite has none, throws Error{config} with how to make them.
  const std::string& counts(double redshift = 0) const;
};

/// Names of a universe's files in its folder: "counts_z0.5.h5", "snapshot_z0.5.hdf5", with the shortest
/// decimal representation of the redshift.
std::string counts_name(double redshift);
std::string snapshot_name(double redshift);
std::string velocity_name(double redshift);
std::string web_name(double redshift);
inline constexpr const char* kInitialName = "initial_z0.h5";  ///< linear, as of z = 0
inline constexpr const char* kPowerSpectrumName = "power_spectrum.csv";
inline constexpr const char* kCorrelationFunctionName = "correlation_function.csv";
inline constexpr const char* kBispectrumName = "bispectrum.csv";
/// Names of the files of a suite of packs: "packs/pack-00003.h5", and the table of its universes.
std::string pack_name(std::size_t pack);
inline constexpr const char* kUniverseTableName = "universes.csv";

struct SimulationManifest {
  Manifest base;
  ParameterSpace parameters;
  Length box_size;  ///< in its unit, the same for all universes
  int grid;         ///< voxels per side of counts and fields; 0 without them
  std::vector<SimulationRecord> simulations;
  LineOfSight line_of_sight = {};
  Facts facts = {};            ///< what is known of all its universes; empty in manifests of earlier versions
  int twins = 1;               ///< simulations in a row with the same seed and parameters
  bool seeds_assumed = false;  ///< whether seeds of some universes are not stated, and so their numbers
  int pack = 0;  ///< universes in a file (histogram/count_pack.hpp); 0: each has files of its own

  /// The stage's own fields of manifest.json.
  Json details() const;
  /// What follows from the plan of a suite: its details and every universe's files. Refers to this.
  Foreseen foreseen() const;
};

/// Parses and checks the suite that the manifest of a directory, of stage "generate", describes. Reads the table of universes if
/// they are in packs. Throws Error{format} naming the file.
SimulationManifest parse_simulation_manifest(Manifest base, const std::filesystem::path& directory);

/// Throws as load_manifest does.
SimulationManifest load_simulation_manifest(const std::filesystem::path& directory);

}  // namespace cosmo::core
