#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/format/json.hpp"
#include "dataset/make/universe_source.hpp"
#include "dataset/shard/setting_column.hpp"

namespace cosmo::dataset {

/// A universe of several sources.
struct JoinedUniverse {
  std::size_t source;    ///< its number
  std::size_t universe;  ///< number of the universe in it
  std::uint32_t
      number;  ///< its `simulation` in the dataset: that of its source, behind those of the sources before
};

/// Sources whose universes become one dataset.
class JoinedSources {
 public:
  /// Throws Error{config} naming what differs and the remedy unless boxes and lines of sight are equal, and for a universe
  /// that two sources have.
  explicit JoinedSources(std::vector<std::unique_ptr<UniverseSource>> sources);

  /// Opens a suite, or several suites and datasets of counts. Throws as open_source(), and Error{config} if one is named twice.
  static JoinedSources open(const std::vector<std::string>& directories);

  std::size_t size() const { return sources_.size(); }
  UniverseSource& source(std::size_t number) const { return *sources_[number]; }
  const SourceFacts& first() const { return sources_.front()->common(); }
  /// Voxels per side of the coarsest source.
  int least_grid() const;
  const std::vector<JoinedUniverse>& universes() const { return universes_; }
  const SourceUniverse& at(std::size_t position) const;

  /// Positions in universes() of those that are never in different splits: twins, and with several sources all of one seed.
  std::vector<std::vector<std::uint32_t>> together() const;
  /// Throws Error{config} naming two sources whose universes have different numbers of particles, and as reading them does.
  void ensure_equal_particles(double redshift) const;
  /// The parameters that vary, from the smallest to the largest value over all sources. Throws Error{config} for a universe
  /// that does not state one of them.
  core::ParameterSpace parameters() const;
  /// What is known of the universes of all sources.
  core::Facts facts() const;
  /// The settings that differ, but for `labels`; with several sources also "input", the number of a universe's source.
  std::vector<SettingColumn> columns(const std::vector<std::string>& labels) const;
  /// The values of a universe in these columns; of what is not known NaN, or "unknown".
  std::vector<double> settings(std::size_t position, const std::vector<SettingColumn>& columns) const;
  /// The ids of the inputs, with commas.
  std::string input_id() const;
  /// "joined" of the dataset's manifest: the numbers and ranges of each source; null for one source.
  core::Json record() const;

 private:
  core::Facts known(std::size_t position) const;
  void ensure_different() const;

  std::vector<std::unique_ptr<UniverseSource>> sources_;
  std::vector<JoinedUniverse> universes_;
};

}  // namespace cosmo::dataset
