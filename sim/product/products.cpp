#include "sim/product/products.hpp"

#include <algorithm>
#include <array>

#include "core/error.hpp"
#include "core/file/text_file.hpp"
#include "core/named.hpp"
#include "sim/linear/background.hpp"
#include "sim/product/product_table.hpp"

namespace cosmo::sim {

namespace {

/// Limit on the particle spacing [rms displacements]. Particles further apart have often not left the voxel
/// in which they started: P(k) of the counts is accurate to 2 % here, 5 % too low at 1.9 and 15 % at 2.4.
constexpr double kSparse = 1.7;

/// Products that were options of their own.
constexpr std::array kFormerTables = {"power-spectrum", "correlation-function", "bispectrum"};

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

/// "no-power-spectrum"
std::string without(const Product& product) { return fmt::format("no-{}", product.name); }

/// The names that --save may have.
std::vector<std::string> save_names() {
  std::vector<std::string> names = core::names_in(kProducts);
  for (const Product& row : kProducts) {
    if (row.implied) names.push_back(without(row));
  }
  return names;
}

std::vector<std::string> names_in_list(const std::string& list) {
  std::vector<std::string> names;
  for (const std::string_view name : core::cells_of(list, ',')) names.emplace_back(name);
  return names;
}

/// --save for "both", counts and particles, and for the option that each table had.
std::string with_former_names(const core::Options& options) {
  const std::string& save = options.text("save");
  std::vector<std::string> names = names_in_list(save == "both" ? "counts,particles,power-spectrum" : save);
  for (const char* table : kFormerTables) {
    if (!options.given(table)) continue;
    const Product& row = core::row_called(kProducts, table, "product");
    std::erase(names, table);
    std::erase(names, without(row));
    if (options.is_on(table)) {
      names.emplace_back(table);
    } else if (row.implied) {
      names.push_back(without(row));
    }
  }
  return fmt::format("{}", fmt::join(names, ","));
}

}  // namespace

void Products::declare(core::Options& options) {
  options.begin_group(core::kEveryDay);
  options.add("save NAME,...", "counts,power-spectrum",
              fmt::format("what to write of each universe, separated by commas: {}; the power-spectrum "
                          "is always written, unless no-power-spectrum is named",
                          core::meanings_in(kProducts)),
              save_names());
  options.add("grid N", std::nullopt, "voxels per side of counts and fields [= particles / 2]");
  options.begin_group("Universes");
  options.add(
      "pack N", std::nullopt,
      "N universes share a file, packs/pack-00000.h5 and so on: for many small ones [a folder for each]");
  std::vector<std::string> usages = {"save both"};
  for (const char* table : kFormerTables) usages.push_back(fmt::format("{} on|off", table));
  options.add_former(usages, "save", "0.5", &with_former_names);
}

Products Products::read(const core::Options& options, const Box& box) {
  const std::string& save = options.text("save");
  const std::vector<std::string> known = save_names(), names = names_in_list(save);
  for (const std::string& name : names) {
    core::ensure(std::ranges::find(known, name) != known.end() && std::ranges::count(names, name) == 1,
                 core::Fault::usage, "Option --save is '{}': give one or more of {}, each once.", save,
                 fmt::join(known, ", "));
  }
  const auto named = [&](std::string_view name) { return std::ranges::find(names, name) != names.end(); };
  Products products;
  for (const Product& row : kProducts) {
    const bool excluded = row.implied && named(without(row));
    core::ensure(!excluded || !named(row.name), core::Fault::usage,
                 "Option --save is '{}': leave out {} or {}.", save, row.name, without(row));
    if (!excluded && (row.implied || named(row.name))) products.list.push_back(&row);
  }
  core::ensure(!products.list.empty(), core::Fault::usage,
               "Option --save is '{}', which leaves nothing to write: add {}.", save, kProducts.front().name);
  if (options.given("pack")) {
    products.pack = static_cast<int>(options.integer("pack", 1, 1'000'000));
    for (const Product* product : products.list)
      core::ensure(
          product->in_packs, core::Fault::config,
          "--pack {} cannot hold the {} of --save: save counts and power-spectrum, or leave out --pack.",
          products.pack, product->name);
  }
  const int voxels = read_voxels(options, box);
  if (std::ranges::any_of(products.list, &Product::on_voxels)) products.voxels = voxels;
  constexpr int kFewestVoxels = 4;
  core::ensure(!products.has("web") || voxels >= kFewestVoxels, core::Fault::config,
               "--save web needs a --grid of {} or more voxels per side, not {}.", kFewestVoxels, voxels);
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
  if (pack > 0) config["pack"] = pack;
}

std::string Products::describe() const {
  std::vector<std::string> texts;
  for (const Product* product : list) {
    std::string text(product->name);
    std::ranges::replace(text, '-', ' ');
    texts.push_back(product->on_voxels ? fmt::format("{} on {}³ voxels", text, voxels) : text);
  }
  const std::string all = fmt::format("{}", fmt::join(texts, ", "));
  return pack > 0 ? fmt::format("{}, {} universes in a file", all, pack) : all;
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
  if (pack > 0) record.pack(static_cast<std::size_t>(pack));
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
