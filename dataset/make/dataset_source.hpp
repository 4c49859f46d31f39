#pragma once

#include <array>
#include <filesystem>
#include <map>
#include <utility>

#include "dataset/load/split_reader.hpp"
#include "dataset/make/universe_source.hpp"

namespace cosmo::dataset {

/// The universes of a dataset of counts, such as cosmo-prep import makes from another code's, whose samples stay as they are.
/// Samples are compared with their checksums as they are read.
class DatasetSource : public UniverseSource {
 public:
  /// Opens and checks every shard.
  DatasetSource(const std::filesystem::path& directory, const DatasetManifest& manifest);

  const core::Manifest& manifest() const override { return manifest_.base; }
  void ensure_there(const SourceContent& content, int cuts, int rolls) const override;
  double particles(double redshift) override;
  void read(std::size_t universe, const SourceCut& cut, std::span<const double> redshifts,
            std::span<std::uint16_t> counts) override;
  void read_target(std::size_t universe, const SourceCut& cut, const SourceContent& content,
                   std::span<float> target) override;
  void read_velocity(std::size_t universe, const SourceCut& cut, double redshift,
                     std::span<const std::uint16_t> counts, std::span<float> velocity) override;

 private:
  std::pair<std::size_t, std::uint32_t> place_of(std::size_t universe, const SourceCut& cut) const;
  DatasetSource(const std::filesystem::path& directory, const DatasetManifest& manifest,
                std::array<SplitReader, 3> splits);

  DatasetManifest manifest_;
  std::array<SplitReader, 3> splits_;
  /// The split and the number in it of each (simulation, sub-volume).
  std::map<std::pair<std::uint32_t, std::uint8_t>, std::pair<std::size_t, std::uint32_t>> places_ = {};
};

}  // namespace cosmo::dataset
