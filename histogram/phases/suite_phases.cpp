#include "histogram/phases/suite_phases.hpp"

#include <algorithm>
#include <vector>

#include "core/error.hpp"
#include "core/parallel/rounds.hpp"
#include "histogram/count_file.hpp"
#include "histogram/phases/phase_sketch.hpp"
#include "histogram/phases/shared_phases.hpp"

namespace cosmo::histogram {

namespace {

std::vector<float> sketch_of(const std::filesystem::path& path) {
  const CountFile file(path);
  const int side = file.header().cells_per_side;
  std::vector<std::uint16_t> counts(file.header().grid().cells());
  file.read_planes({0, side}, counts);
  return phase_sketch(std::span<const std::uint16_t>(counts), side);
}

}  // namespace

void warn_of_phases(const core::Communicator& comm, const core::Log& log,
                    const std::filesystem::path& directory, const core::SimulationManifest& suite) {
  const std::size_t universes = suite.simulations.size();
  const auto cells = static_cast<std::size_t>(sketch_side(suite.grid));
  const std::size_t size = cells * cells * cells;
  std::vector<float> all(universes * size);
  core::in_rounds(
      comm, universes,
      [&](std::size_t i) {
        const std::vector<float> own = sketch_of(directory / suite.simulations[i].outputs.front().counts);
        std::ranges::copy(own, all.begin() + static_cast<std::ptrdiff_t>(i * size));
      },
      [](std::size_t) {});
  comm.sum(std::span(all));  // other ranks have zeros
  const PhaseFinding finding = find_shared_phases(all, universes, true);
  log.info("{}", finding.text());
  if (!finding.conclusive && finding.universes > 1) log.warn("{}.", finding.text());
  if (finding.pairs.empty()) return;
  const SharedPhases& first = finding.pairs.front();
  const std::size_t more = finding.pairs.size() - 1;
  log.warn(
      "simulations {} and {} share their phases (r = {:.2f}), as their content shows{}: they must not be in different splits.",
      suite.simulations[first.first].index, suite.simulations[first.second].index, first.correlation,
      more > 0 ? fmt::format(", and {} pairs more do so", more) : "");
}

}  // namespace cosmo::histogram
