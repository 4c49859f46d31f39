#include "sim/product/products.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "core/named.hpp"
#include "sim/linear/background.hpp"
#include "sim/product/product_table.hpp"

namespace cosmo::sim {

namespace {

/// Limit on the particle spacing [rms displacements]. Particles further apart have often not left the voxel
/// in which they started: P(k) of the counts is accurate to 2 % here, 5 % too low at 1.9 and 15 % at 2.4.
constexpr double kSparse = 1.7;

/// --grid. Throws Error{config} if it is too coarse for the particles.
int read_voxels(const core::Options& options, const Box& box) {
  const int grid =
      options.given("grid") ? static_cast<int>(options.integer("grid", 1, 8192)) : box.particles_per_side / 2;
  core::ensure(
      grid >= box.particles_per_side / kMostPerCell, core::Fault::config,
      "--grid {} is too coarse for --particles {}: choose at least one voxel for {} particles per side.",
      grid, box.particles_per_side, kMostPerCell);
  return grid;
}

}  // namespace

void Products::declare(core::Options& options) {
  options.begin_group(core::kEveryDay);
  options.add("grid N", std::nullopt, "voxels per side of the counts [= particles / 2]");
  options.add("save", "counts", "what to write at each redshift: counts, particles or both",
              {"counts", "particles", "both"});
  options.begin_group("Outputs");
  options.add_switch("power-spectrum", true, "write each universe's P(k), a table: on or off");
  options.add_switch("correlation-function", false, "write each universe's ξ(r), a table: on or off");
  options.add_switch("bispectrum", false,
                     "write each universe's B of equilateral and squeezed triangles, a table: on or off");
}

Products Products::read(const core::Options& options, const Box& box) {
  const std::string& save = options.choice("save");
  Products products;
  for (const Product& row : kProducts) {
    const bool at_redshifts = row.name == "counts" || row.name == "particles";
    if (at_redshifts ? save == "both" || save == row.name : options.is_on(std::string(row.name)))
      products.list.push_back(&row);
  }
  const int voxels = read_voxels(options, box);
  if (std::ranges::any_of(products.list, &Product::on_voxels)) products.voxels = voxels;
  return products;
}

void Products::warn(const core::Log& log, const SimulationConfig& config,
                    const core::Cosmology& cosmology) const {
  if (!has("counts")) return;
  const double spacing = config.particle_grid(cosmology).cell_size();
  const double today = config.start.power(cosmology).rms_displacement();
  const Background background = config.gravity.background(cosmology);
  std::vector<double> sparse;
  for (const double z : config.outputs.redshifts) {
    if (spacing > kSparse * today * background.D1(1 / (1 + z))) sparse.push_back(z);
  }
  if (sparse.empty()) return;
  log.warn(
      "particles are {:.1f} Mpc/h apart and too few have left their voxels at z = {}: P(k) of the counts is "
      "wrong there, use more --particles or a smaller --box.",
      spacing, fmt::join(sparse, ", "));
}

void Products::identify(core::Json& config) const {
  for (const Product& row : kProducts) {
    const bool made = has(row.name);
    if (made || row.old) config[std::string(row.key)] = made;
  }
  if (voxels > 0) config["grid"] = voxels;
}

std::string Products::describe() const {
  std::string text = has("counts") ? fmt::format("counts on {}³ voxels", voxels) : "";
  if (has("particles")) text += text.empty() ? "particles" : " and particles";
  return text;
}

bool Products::has(std::string_view name) const {
  return std::ranges::find(list, name, &Product::name) != list.end();
}

Contents Products::contents() const {
  Contents all;
  for (const Product* product : list) all = all + product->needs;
  return all;
}

void Products::name_files(core::SimulationRecord& record) const {
  const std::string folder = fmt::format("sim-{:05}/", record.index);
  for (const Product* product : list) product->name_files(record, folder);
}

std::uint64_t Products::disk_bytes(const SimulationConfig& config) const {
  std::uint64_t sum = 0;
  for (const Product* product : list) sum += product->disk_bytes({config, voxels});
  return sum;
}

std::uint64_t Products::memory_bytes(const SimulationConfig& config, int ranks, int threads) const {
  std::uint64_t most = 0;
  for (const Product* product : list)
    most = std::max(most, product->memory_bytes({config, voxels}, ranks, threads));
  return most;
}

std::vector<std::unique_ptr<Maker>> Products::makers(UniverseFiles& files) const {
  std::vector<std::unique_ptr<Maker>> result;
  for (const Product* product : list) result.push_back(product->make(files));
  return result;
}

}  // namespace cosmo::sim
