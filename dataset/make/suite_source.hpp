#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <span>

#include "core/output/watched_files.hpp"
#include "core/universe/simulation_manifest.hpp"
#include "dataset/make/universe_source.hpp"
#include "histogram/count_file.hpp"
#include "histogram/count_pack.hpp"

namespace cosmo::dataset {

/// The universes of a suite.
class SuiteSource : public UniverseSource {
 public:
  SuiteSource(std::filesystem::path directory, core::SimulationManifest manifest);

  const core::Manifest& manifest() const override { return manifest_.base; }
  std::uint64_t memory_bytes() const override;
  void ensure_there(const SourceContent& content, int cuts, int rolls) const override;
  double particles(double redshift) override;
  void check(const core::Communicator& comm, const core::Log& log, std::span<const std::size_t> universes,
             const SourceContent& content, double particles) override;
  void read(std::size_t universe, const SourceCut& cut, std::span<const double> redshifts,
            std::span<std::uint16_t> counts) override;
  void read_target(std::size_t universe, const SourceCut& cut, const SourceContent& content,
                   std::span<float> target) override;
  void read_velocity(std::size_t universe, const SourceCut& cut, double redshift,
                     std::span<const std::uint16_t> counts, std::span<float> velocity) override;
  void check_sum(std::size_t universe, std::span<const double> redshifts) override;

 private:
  histogram::CountFile counts_of(const core::SimulationRecord& record, double redshift);
  void check_files(std::span<const std::size_t> universes, const SourceContent& content);

  std::filesystem::path directory_;
  core::SimulationManifest manifest_;
  histogram::OpenPacks packs_;
  std::mutex checking_;
  core::WatchedFiles checked_;
};

}  // namespace cosmo::dataset
