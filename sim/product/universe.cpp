#include "sim/product/universe.hpp"

#include <memory>

#include "sim/product/pack.hpp"

namespace cosmo::sim {

namespace {

/// Simulates the universe whose files these are.
void make_universe(UniverseFiles& files, const SimulationConfig& config, const Products& products,
                   const Watch& watch) {
  const std::vector<std::unique_ptr<Maker>> makers = products.makers(files);
  Observers observers;
  observers.initial = [&](const auto& initial, const auto& linear) {
    for (const auto& maker : makers) maker->see_initial(initial, linear);
  };
  observers.field = [&](const fourier::FourierMesh& delta) {
    for (const auto& maker : makers) maker->see_field(delta);
  };
  observers.real_space = [&](const Output& now) {
    for (const auto& maker : makers) maker->see_real(now);
  };
  observers.step = watch.step;
  observers.output = [&](const Output& now) {
    for (const auto& maker : makers) maker->see(now);
  };
  simulate(files.group(), config, files.record().universe, observers);
  for (const auto& maker : makers) maker->finish();
  watch.universe(files.record());
}

}  // namespace

std::vector<core::FileRecord> make_universes(const core::Communicator& group,
                                             const core::OutputDirectory& output,
                                             const std::function<SimulationConfig(std::size_t)>& config_of,
                                             const Products& products,
                                             std::span<const core::SimulationRecord> universes,
                                             const Watch& watch) {
  const core::SimulationRecord& first = universes.front();
  const SimulationConfig config = config_of(first.index);
  if (products.pack == 0) {
    UniverseFiles files(group, output, config, first, products.voxels);
    make_universe(files, config, products, watch);
    return files.take_records();
  }
  return publish(group, output, first.files().front(), [&](const std::filesystem::path& part) {
    Pack pack(group, part, config, products, universes);
    for (const core::SimulationRecord& universe : universes) {
      const SimulationConfig own = config_of(universe.index);
      UniverseFiles files(group, output, own, universe, products.voxels, &pack);
      make_universe(files, own, products, watch);
    }
    pack.close();
  });
}

}  // namespace cosmo::sim
