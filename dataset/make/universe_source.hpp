#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/log.hpp"
#include "core/output/manifest.hpp"
#include "core/parallel/communicator.hpp"
#include "core/universe/cosmic_web.hpp"
#include "core/universe/facts.hpp"
#include "core/universe/length.hpp"
#include "core/universe/universe.hpp"

namespace cosmo::dataset {

/// A universe that samples are cut from.
struct SourceUniverse {
  std::uint32_t simulation;  ///< its number in the source
  std::uint64_t seed;
  std::map<std::string, double, std::less<>> parameters;  ///< all that are known, by name
  core::Facts settings = {};                              ///< facts that are not those of the whole source
  std::string content = {};  ///< digest of its counts, where they are a file of their own
};

/// What is the same for all universes of a source.
struct SourceFacts {
  std::string name;                 ///< for messages
  std::string input;                ///< id of its manifest
  core::ParameterSpace parameters;  ///< those that vary
  core::Length box;
  int grid = 0;  ///< voxels per side
  core::LineOfSight line_of_sight;
  core::Facts facts;
  bool seeds_assumed = false;                   ///< whether seeds of some universes are their numbers
  int twins = 1;                                ///< universes in a row that differ in settings alone
  std::optional<core::WebDefinition> web = {};  ///< what defines its classes, if that is known
  int cuts = 0;  ///< sub-volumes per side into which universes are cut already; 0: they are whole
};

/// A sub-volume to read.
struct SourceCut {
  std::uint8_t subvolume;
  std::array<int, 3>
      origin;  ///< its first voxel on the grid of the dataset; sources of whole universes need it
  int cells;   ///< voxels per side
  int grid;    ///< voxels per side of the universe, a divisor of the source's
};

/// What is read of each universe.
struct SourceContent {
  std::span<const double> redshifts;  ///< at which its counts are read
  std::string_view target;            ///< the field beside them; empty: none
  bool velocity = false;              ///< whether velocities at the first redshift are read, too
};

/// Universes on disk that become samples of a dataset.
class UniverseSource {
 public:
  UniverseSource(SourceFacts common, std::vector<SourceUniverse> universes)
      : common_(std::move(common)), universes_(std::move(universes)) {}
  virtual ~UniverseSource() = default;
  UniverseSource(const UniverseSource&) = delete;
  UniverseSource& operator=(const UniverseSource&) = delete;

  const SourceFacts& common() const { return common_; }
  const std::vector<SourceUniverse>& universes() const { return universes_; }

  virtual const core::Manifest& manifest() const = 0;
  /// What reading takes besides buffers of samples [bytes].
  virtual std::uint64_t memory_bytes() const { return 0; }
  /// Throws Error{config} with how to make it if some of this content, in cuts of this number per side, is missing.
  virtual void ensure_there(const SourceContent& content, int cuts, int rolls) const = 0;
  /// Particles in the whole box, the same for all universes; for a dataset the mean. Throws as reading does.
  virtual double particles(double redshift) = 0;
  /// Compares this content of these universes with the source's manifest, if that has not been done; `particles`: those of each.
  /// Collective; throws the same error on every rank.
  virtual void check(const core::Communicator&, const core::Log&, std::span<const std::size_t>,
                     const SourceContent&, double) {}
  /// Reads the counts (C, n, n, n) of a universe.
  virtual void read(std::size_t universe, const SourceCut& cut, std::span<const double> redshifts,
                    std::span<std::uint16_t> counts) = 0;
  /// Reads the target (n, n, n) of a universe, which ensure_there() has found.
  virtual void read_target(std::size_t universe, const SourceCut& cut, const SourceContent& content,
                           std::span<float> target) = 0;
  /// Reads the mean velocities (3, n, n, n) of the particles in each voxel of a universe at this redshift [km/s], 0 where there is
  /// none; `counts`: its counts there.
  virtual void read_velocity(std::size_t universe, const SourceCut& cut, double redshift,
                             std::span<const std::uint16_t> counts, std::span<float> velocity) = 0;
  /// Throws Error{format} naming the file if the counts of a universe do not sum to the particles that it states.
  virtual void check_sum(std::size_t, std::span<const double>) {}

 private:
  SourceFacts common_;
  std::vector<SourceUniverse> universes_;
};

/// The suite in the directory. Throws as core::load_simulation_manifest().
std::unique_ptr<UniverseSource> open_suite(const std::filesystem::path& directory);
/// The suite of cosmo-sim generate or cosmo-prep histogram, or the dataset of counts, in the directory. Throws as loading its
/// manifest does.
std::unique_ptr<UniverseSource> open_source(const std::filesystem::path& directory);

}  // namespace cosmo::dataset
