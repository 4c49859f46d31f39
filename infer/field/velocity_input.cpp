#include "infer/field/velocity_input.hpp"

#include <variant>

#include "core/error.hpp"
#include "core/file/file_state.hpp"
#include "core/output/manifest.hpp"
#include "core/universe/simulation_manifest.hpp"
#include "dataset/voxels/augmentation.hpp"
#include "histogram/coarse_counts.hpp"
#include "histogram/field_file.hpp"

namespace cosmo::infer {

namespace {

/// Its counts in files, if it is in any.
const std::vector<histogram::CountFile>* counts_of(const OpenUniverse& universe) {
  return std::get_if<std::vector<histogram::CountFile>>(&universe.content);
}

}  // namespace

std::filesystem::path velocity_file(const OpenUniverse& universe) {
  const std::filesystem::path counts = universe.path;
  const auto* const files = counts_of(universe);
  const std::filesystem::path file =
      files ? counts.parent_path() / core::velocity_name(files->front().header().redshift) : "";
  core::ensure(
      !file.empty() && std::filesystem::exists(file), core::Fault::config,
      "{} has no velocities beside it, which the model reads: give universes that cosmo-sim generate --save "
      "counts,velocity wrote.",
      counts.string());
  return file;
}

std::vector<float> read_velocity(const OpenUniverse& universe) {
  const std::filesystem::path path = velocity_file(universe);
  const core::FileState before = core::state_of(path);
  core::check_in_suite(path);
  const histogram::FieldFile file(path);
  const histogram::FieldFileHeader& header = file.header();
  const histogram::CountFile& counts = counts_of(universe)->front();
  core::ensure(header.quantity == "velocity" && header.components == 3 &&
                   header.cells_per_side == counts.header().cells_per_side &&
                   header.box_size == counts.header().box_size &&
                   header.redshift == counts.header().redshift &&
                   header.universe == counts.header().universe &&
                   header.line_of_sight == counts.header().line_of_sight,
               core::Fault::format, "{} has not the velocities of {}: run cosmo-sim again with --force.",
               path.string(), universe.path);
  core::ensure(
      header.particles == counts.header().particles, core::Fault::config,
      "{} has the velocities of {} particles, of which {} were counted: give universes without --tracers.",
      path.string(), header.particles, counts.header().particles);
  std::vector<std::uint16_t> box(dataset::Box(universe.cells).voxels());
  histogram::read_coarse(counts, universe.factor, {0, 0, 0}, universe.cells, box);
  std::vector<float> velocity(3 * box.size());
  histogram::read_mean_velocity(file, universe.factor, {0, 0, 0}, universe.cells, box, velocity);
  core::ensure_unchanged(path, before);
  return velocity;
}

}  // namespace cosmo::infer
