#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/grid.hpp"
#include "core/output/output_directory.hpp"
#include "core/parallel/communicator.hpp"
#include "core/universe/simulation_manifest.hpp"
#include "core/universe/universe.hpp"
#include "sim/simulation.hpp"

namespace cosmo::sim {

class Pack;

/// Lets all ranks of the group write a file, which the root then publishes. Collective; all ranks throw what `write` throws on
/// one. Returns the root's record of the file.
std::vector<core::FileRecord> publish(const core::Communicator& group, const core::OutputDirectory& output,
                                      const std::string& path,
                                      const std::function<void(const std::filesystem::path&)>& write);

/// Writes and publishes the files of one universe, which the ranks of a group make together. All that it is made of must
/// outlive it.
class UniverseFiles {
 public:
  /// `voxels` is the number per side of products on a grid; `pack`, if there is one, takes what would be files.
  UniverseFiles(const core::Communicator& group, const core::OutputDirectory& output,
                const SimulationConfig& config, const core::SimulationRecord& record, int voxels,
                Pack* pack = nullptr);

  const core::Communicator& group() const { return group_; }
  const core::SimulationRecord& record() const { return record_; }
  const SimulationConfig& config() const { return config_; }
  const core::GridSpec& voxels() const { return voxels_; }
  Pack* pack() const { return pack_; }
  /// The paths of the files at the output's redshift.
  const core::SimulationOutput& paths_of(const Output& output) const;
  /// What these files state of the universe.
  core::OutputHeader header_of(const Output& output) const { return header_at(output.redshift); }
  core::OutputHeader header_at(double redshift) const;

  /// publish()es a file of the universe.
  void add(const std::string& path, const std::function<void(const std::filesystem::path&)>& write);
  /// Writes the text on the root, and publishes it. Collective, with the root's errors on all ranks.
  void add_text(const std::string& path, const std::string& text);

  /// What the root has published.
  std::vector<core::FileRecord> take_records() { return std::move(records_); }

 private:
  const core::Communicator& group_;
  const core::OutputDirectory& output_;
  const SimulationConfig& config_;
  const core::SimulationRecord& record_;
  core::GridSpec voxels_;
  Pack* pack_;
  std::vector<core::FileRecord> records_;
};

}  // namespace cosmo::sim
