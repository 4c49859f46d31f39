#include "sim/product/universe.hpp"

#include <memory>

namespace cosmo::sim {

std::vector<core::FileRecord> make_universe(const core::Communicator& group,
                                            const core::OutputDirectory& output,
                                            const SimulationConfig& config, const Products& products,
                                            const core::SimulationRecord& record,
                                            const std::function<void(const Step&)>& step) {
  UniverseFiles files(group, output, config, record, products.voxels);
  const std::vector<std::unique_ptr<Maker>> makers = products.makers(files);
  Observers observers;
  observers.initial = [&](const auto& initial, const auto& linear) {
    for (const auto& maker : makers) maker->see_initial(initial, linear);
  };
  observers.step = step;
  observers.output = [&](const Output& now) {
    for (const auto& maker : makers) maker->see(now);
  };
  simulate(group, config, record.universe, observers);
  for (const auto& maker : makers) maker->finish();
  return files.take_records();
}

}  // namespace cosmo::sim
