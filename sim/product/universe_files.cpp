#include "sim/product/universe_files.hpp"

#include <algorithm>
#include <iterator>

#include "core/file/text_file.hpp"
#include "sim/product/pack.hpp"

namespace cosmo::sim {

std::vector<core::FileRecord> publish(const core::Communicator& group, const core::OutputDirectory& output,
                                      const std::string& path,
                                      const std::function<void(const std::filesystem::path&)>& write) {
  std::filesystem::path part;
  group.agree([&] { part = group.is_root() ? output.part(path) : output.part_path(path); });
  write(part);
  std::vector<core::FileRecord> records;
  group.agree([&] {
    if (group.is_root()) records.push_back(output.seal(path));
  });
  return records;
}

UniverseFiles::UniverseFiles(const core::Communicator& group, const core::OutputDirectory& output,
                             const SimulationConfig& config, const core::SimulationRecord& record, int voxels,
                             Pack* pack)
    : group_(group),
      output_(output),
      config_(config),
      record_(record),
      voxels_{voxels, config.box.side.mpc_h(record.universe.cosmology.h)},
      pack_(pack) {}

const core::SimulationOutput& UniverseFiles::paths_of(const Output& output) const {
  return *std::ranges::find(record_.outputs, output.redshift, &core::SimulationOutput::redshift);
}

core::OutputHeader UniverseFiles::header_at(double redshift) const {
  return {.universe = record_.universe,
          .box_size = voxels_.box_size,
          .redshift = redshift,
          .particles = config_.particle_grid(record_.universe.cosmology).cells(),
          .line_of_sight = config_.outputs.line_of_sight};
}

void UniverseFiles::add(const std::string& path,
                        const std::function<void(const std::filesystem::path&)>& write) {
  std::ranges::move(publish(group_, output_, path, write), std::back_inserter(records_));
}

void UniverseFiles::add_text(const std::string& path, const std::string& text) {
  add(path, [&](const auto& part) {
    group_.agree([&] {
      if (group_.is_root()) core::write_text(part, text);
    });
  });
}

}  // namespace cosmo::sim
