#include "infer/input/universe_counts.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "core/error.hpp"
#include "core/hdf5/hdf5.hpp"
#include "core/output/manifest.hpp"
#include "core/universe/simulation_manifest.hpp"
#include "dataset/shard/shard_format.hpp"
#include "histogram/coarse_counts.hpp"
#include "histogram/count_file.hpp"
#include "histogram/field_file.hpp"
#include "histogram/particles/binary_particles.hpp"
#include "histogram/snapshot/filled_share.hpp"
#include "histogram/snapshot/snapshot_counts.hpp"
#include "infer/predict/predictor.hpp"

namespace cosmo::infer {

using core::ensure;
using core::Fault;

namespace {

namespace fs = std::filesystem;

constexpr double kSameLength = 1e-6;    ///< relative
constexpr double kMostCells = 1 << 14;  ///< per side

/// Copies the cube of `cells` per side at `origin` out of a grid (n, n, n).
template <class Voxel>
void copy_cube(std::span<const Voxel> grid, int n, const std::array<int, 3>& origin, int cells,
               std::span<Voxel> cube) {
  Voxel* to = cube.data();
  for (int x = 0; x < cells; ++x) {
    for (int y = 0; y < cells; ++y, to += cells) {
      const auto row = static_cast<std::size_t>(origin[0] + x) * static_cast<std::size_t>(n) +
                       static_cast<std::size_t>(origin[1] + y);
      std::copy_n(&grid[row * static_cast<std::size_t>(n) + static_cast<std::size_t>(origin[2])], cells, to);
    }
  }
}

/// The unit of the model's voxels in a universe of this h, if it is known. [Mpc/h]
double unit_of(const nn::ModelManifest& model, std::optional<double> h, const std::string& path) {
  const core::Length voxel = model.input.voxel_size;
  ensure(voxel.unit == core::LengthUnit::mpc_h || h.has_value(), Fault::config,
         "The model's voxels are {} {} and {} does not state its h: give counts from cosmo-prep histogram.",
         voxel.value, name_of(voxel.unit), path);
  return core::Length(1, voxel.unit).mpc_h(h.value_or(1));
}

bool are_whole(double voxels) {
  return voxels >= 0.5 && std::abs(voxels / std::round(voxels) - 1) < kSameLength;
}

bool are_samples(const nn::ModelManifest& model, double cells) {
  return cells >= 1 && cells <= kMostCells && std::fmod(cells, model.input.size) == 0;
}

/// Voxels per side of a box that is `voxels` of the model's voxels wide; must be a whole number of samples. An error ends with
/// the remedy `other`.
int cells_of(const nn::ModelManifest& model, double voxels, const std::string& path,
             const std::string& other = "") {
  const core::Length voxel = model.input.voxel_size;
  const double cells = std::round(voxels);
  ensure(
      are_whole(voxels), Fault::config,
      "{} has a box of {:.9g} {}, {:.9g} of the model's voxels of {}, which is not a whole number: give a universe "
      "whose box they divide{}.",
      path, voxels * voxel.value, name_of(voxel.unit), voxels, voxel.value, other);
  ensure(
      are_samples(model, cells), Fault::config,
      "{} has a box of {:.9g} {}, {}³ of the model's voxels, and the model reads {}³: give a box whose side is a "
      "multiple of {} voxels, up to {}{}.",
      path, cells * voxel.value, name_of(voxel.unit), cells, model.input.size, model.input.size, kMostCells,
      other);
  return static_cast<int>(cells);
}

/// ", or --length-unit kpc/h, in which it is 32 of them wide" for the units of length in which a box, in a snapshot's unit, is
/// a whole number of samples; empty without any. `unit` is that of the model's voxels. [Mpc/h]
std::string other_lengths(const nn::ModelManifest& model, double box, double unit, std::optional<double> h) {
  const double hubble = h.value_or(0);  // 0: no box in a unit without h
  std::string text;
  for (const auto& [name, scale] : histogram::kLengthUnits) {
    const double voxels = box / scale.per_mpc_h(hubble) / (model.input.voxel_size.value * unit);
    if (are_whole(voxels) && are_samples(model, std::round(voxels)))
      text += fmt::format(", or --length-unit {}, in which it is {} of them wide", name, std::round(voxels));
  }
  return text;
}

/// Throws Error{format} unless these files have the content that a manifest lists, if one does.
void compare_with_manifest(const UniverseSource& source, const std::vector<fs::path>& files) {
  for (const core::FileRecord& record : source.records) (void)core::check_content(source.suite, record);
  if (!source.records.empty()) return;
  for (const fs::path& file : files) core::check_in_suite(file);
}

/// Takes counts whose content is known to be theirs.
OpenUniverse take_counts(const nn::ModelManifest& model, std::vector<histogram::CountFile> files) {
  std::vector<double> redshifts;
  OpenUniverse universe{std::vector<histogram::CountFile>(), files.front().name(), 0, 1, {}, {}};
  for (const histogram::CountFile& file : files) {
    const std::string& path = file.name();
    const histogram::CountFileHeader& header = file.header();
    redshifts.push_back(header.redshift);
    model.input.ensure_space(header.line_of_sight, path);
    const core::Length trained = model.input.voxel_size;
    const double cell = header.grid().cell_size() / unit_of(model, header.universe.cosmology.h, path);
    const int factor = std::max(1, static_cast<int>(std::round(trained.value / cell)));
    model.input.ensure_voxel({cell * factor, trained.unit}, path);
    const int cells = cells_of(model, static_cast<double>(header.cells_per_side) / factor, path);
    ensure(universe.cells == 0 || cells == universe.cells, Fault::format,
           "{} has {}³ voxels and {} has {}³: restore them.", path, cells, universe.path, universe.cells);
    universe.cells = cells;
    universe.factor = std::max(universe.factor, factor);
    if (header.universe.seed != 0)
      universe.seed = header.universe.seed;  // 0 stands for a snapshot without a seed
  }
  model.input.ensure_redshifts(redshifts, universe.path);
  universe.facts = core::facts_of(files.front().header(), model.input.voxel_size.unit);
  universe.content = std::move(files);
  return universe;
}

/// Opens counts files whose content is known to be theirs.
OpenUniverse open_counts(const nn::ModelManifest& model, const std::vector<fs::path>& paths) {
  ensure(paths.size() == model.input.redshifts.size(), Fault::config,
         "{} is of one redshift and the model reads z = {}: give the directory of the universe's counts.",
         paths.front().string(), fmt::join(model.input.redshifts, ", "));
  OpenUniverse universe = take_counts(model, std::vector<histogram::CountFile>(paths.begin(), paths.end()));
  universe.facts = core::facts_of_file(paths.front(), std::move(universe.facts));
  return universe;
}

/// Opens the counts in a row of a pack.
OpenUniverse open_row(const nn::ModelManifest& model, const UniverseSource& source, Compare compare) {
  const histogram::CountPack& pack = source.packs->open(source.path, [&] {
    if (compare == Compare::content) compare_with_manifest(source, {source.path});
  });
  std::vector<histogram::CountFile> files;
  for (const double redshift : model.input.redshifts) files.emplace_back(pack, source.element, redshift);
  OpenUniverse universe = take_counts(model, std::move(files));
  universe.facts = core::facts_of_file(source.path, std::move(universe.facts));
  return universe;
}

/// What the files of a snapshot state.
core::Facts facts_of(const histogram::WeighedSnapshot& weighed, core::LengthUnit unit) {
  const histogram::GadgetSnapshot& snapshot = weighed.snapshot;
  core::OutputHeader header{.box_size = snapshot.box_size() / snapshot.units_per_mpc_h(),
                            .redshift = snapshot.redshift(),
                            .particles = weighed.counts(),
                            .line_of_sight = snapshot.line_of_sight()};
  const std::map<std::string, double>& stated = snapshot.parameters();
  for (const auto& [name, value] : stated)
    header.universe.cosmology.*core::find_cosmology_parameter(name)->member = value;
  core::Facts facts = core::facts_of(header, unit);
  for (const core::CosmologyParameter& row : core::kCosmologyParameters) {
    if (const std::string name(row.name); !stated.contains(name)) facts.erase(name);
  }
  return facts;
}

OpenUniverse open_snapshot(const nn::ModelManifest& model, const UniverseSource& source) {
  const std::string path = source.path.string();
  histogram::WeighedSnapshot weighed =
      histogram::open_snapshot(core::Communicator::self(), source.path, source.reading);
  const histogram::GadgetSnapshot& snapshot = weighed.snapshot;
  ensure(model.input.redshifts.size() == 1, Fault::config,
         "{} is of one redshift and the model reads z = {}: give the directory of the universe's counts.",
         path, fmt::join(model.input.redshifts, ", "));
  model.input.ensure_redshifts({snapshot.redshift()}, path);
  model.input.ensure_space(snapshot.line_of_sight(), path);
  const auto stated = snapshot.parameters().find("h");
  const auto h = stated == snapshot.parameters().end() ? std::nullopt : std::optional(stated->second);
  const double unit = unit_of(model, h, path);
  const int cells = cells_of(
      model, snapshot.box_size() / snapshot.units_per_mpc_h() / (model.input.voxel_size.value * unit), path,
      snapshot.overridden().contains("box") ? "" : other_lengths(model, snapshot.box_size(), unit, h));
  const std::optional<std::uint64_t> seed = snapshot.seed();
  core::Facts facts =
      core::facts_of_file(snapshot.files().front(), facts_of(weighed, model.input.voxel_size.unit));
  return {std::move(weighed), path, cells, 1, seed, std::move(facts)};
}

OpenUniverse open_npy(const nn::ModelManifest& model, const UniverseSource& source) {
  const std::string path = source.path.string();
  const core::Length trained = model.input.voxel_size;
  ensure(source.box.has_value(), Fault::usage, "{} does not state the size of its box: give --box, in {}.",
         path, name_of(trained.unit));
  ensure(source.box->unit == trained.unit, Fault::config,
         "--box is in {} and the model's voxels of {} {} are not: give it in {}.", name_of(source.box->unit),
         trained.value, name_of(trained.unit), name_of(trained.unit));
  dataset::NpySamples file(source.path, static_cast<int>(model.input.redshifts.size()));
  const int side = file.side();
  model.input.ensure_voxel({source.box->value / side, source.box->unit},
                           fmt::format("{}, {} voxels wide in a --box of {} {},", path, side,
                                       source.box->value, name_of(source.box->unit)));
  const int cells = cells_of(model, side, path);
  core::Facts facts;
  core::set_length(facts, "box", *source.box);
  return {NpyUniverse{std::move(file), source.element}, path, cells, 1, std::nullopt, std::move(facts)};
}

/// The channels of a universe in counts files.
std::vector<UniverseCounts::Channel> read_channels(const core::Log& log, const nn::ModelManifest&,
                                                   const OpenUniverse& universe,
                                                   std::vector<histogram::CountFile>& files) {
  if (universe.factor > 1)
    log.info("{}: {}³ cells are summed up to each of the model's voxels", universe.path, universe.factor);
  std::vector<UniverseCounts::Channel> channels;
  for (histogram::CountFile& file : files) {
    file.check_sum();
    channels.emplace_back(std::move(file));
  }
  return channels;
}

std::vector<UniverseCounts::Channel> read_channels(const core::Log& log, const nn::ModelManifest&,
                                                   const OpenUniverse& universe,
                                                   histogram::WeighedSnapshot& weighed) {
  const histogram::GadgetSnapshot& snapshot = weighed.snapshot;
  log.info("counting {} particles on {}³ voxels", snapshot.particles(), universe.cells);
  core::Cosmology cosmology;
  for (const auto& [name, value] : snapshot.parameters()) {
    const core::CosmologyParameter& row = *core::find_cosmology_parameter(name);
    core::ensure(
        value >= row.low && value <= row.high, core::Fault::format,
        "{0} has {1} = {2}, which is not between {3} and {4}: correct it, or count it with cosmo-prep histogram "
        "--override {1}=X.",
        universe.path, name, value, row.low, row.high);
    cosmology.*row.member = value;
  }
  histogram::warn_of(log, universe.path, histogram::remarks_on(weighed, cosmology));
  std::optional<core::Progress> progress;
  histogram::CountGrid grid = histogram::count_particles(core::Communicator::self(), weighed, universe.cells,
                                                         [&](std::int64_t rounds) {
                                                           if (!progress)
                                                             progress.emplace(log, "parts counted", rounds);
                                                           progress->advance();
                                                         });
  histogram::warn_of(
      log, universe.path,
      histogram::remarks_on({{}, snapshot.seen(), histogram::filled_share(core::Communicator::self(), grid)},
                            snapshot));
  std::vector<UniverseCounts::Channel> channels;
  channels.emplace_back(std::move(grid).take());
  return channels;
}

/// Grids (C, cells) of one kind.
template <class Voxel>
std::vector<UniverseCounts::Channel> as_channels(std::span<const std::byte> voxels, std::size_t cells) {
  std::vector<UniverseCounts::Channel> channels;
  for (std::size_t first = 0; first < voxels.size(); first += cells * sizeof(Voxel)) {
    core::Buffer<Voxel> grid(cells);
    std::memcpy(grid.data(), &voxels[first], cells * sizeof(Voxel));
    channels.emplace_back(std::move(grid));
  }
  return channels;
}

std::vector<UniverseCounts::Channel> read_channels(const core::Log&, const nn::ModelManifest& model,
                                                   const OpenUniverse& universe, NpyUniverse& array) {
  const auto side = static_cast<std::size_t>(universe.cells);
  const dataset::VoxelKind kind = transform_of(model).kind;
  const std::vector<std::byte> voxels = array.file.read(array.element, kind);
  return kind == dataset::VoxelKind::counts ? as_channels<std::uint16_t>(voxels, side * side * side)
                                            : as_channels<float>(voxels, side * side * side);
}

}  // namespace

Held held_in(const fs::path& path) {
  if (histogram::BinaryParticles::is_one(path)) return Held::particles;
  const auto file = core::hdf5::File::open(path);
  const std::string schema = file.has_attribute("schema") ? file.text_attribute("schema") : "";
  ensure(schema != dataset::kShardSchema, Fault::config,
         "{} is a shard of a dataset: give the dataset as --data, or a universe.", path.string());
  ensure(schema != histogram::kFieldSchema, Fault::config,
         "{} is a field that cosmo-sim wrote, and models read counts: give the counts_z0.h5 beside it.",
         path.string());
  if (schema == histogram::kPackSchema) return Held::pack;
  return schema == histogram::kCountSchema ? Held::counts : Held::particles;
}

std::vector<fs::path> counts_in(const fs::path& directory, const nn::ModelManifest& model) {
  std::vector<fs::path> files;
  for (const double redshift : model.input.redshifts)
    files.push_back(directory / core::counts_name(redshift));
  const auto exists = [](const fs::path& file) { return fs::exists(file); };
  if (std::ranges::none_of(files, exists)) {
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(directory, error)) {
      const std::string name = entry.path().filename().string();
      ensure(!name.starts_with("counts_z") || !name.ends_with(".h5"), Fault::config,
             "{} has {} and the model reads z = {}: make counts at that redshift.", directory.string(), name,
             fmt::join(model.input.redshifts, ", "));
    }
    return {};
  }
  for (const fs::path& file : files) {
    ensure(exists(file), Fault::config, "{} has no {}, and the model reads z = {}: make them.",
           directory.string(), file.filename().string(), fmt::join(model.input.redshifts, ", "));
  }
  return files;
}

UniverseCounts::UniverseCounts(std::vector<Channel> channels, int cells, int size)
    : channels_(std::move(channels)), cells_(cells), regions_(cells, cells / size) {}

dataset::VoxelKind UniverseCounts::kind() const {
  return std::holds_alternative<core::Buffer<float>>(channels_.front()) ? dataset::VoxelKind::field
                                                                        : dataset::VoxelKind::counts;
}

void UniverseCounts::read(int n, std::span<std::uint16_t> counts) const {
  const std::size_t cells = counts.size() / channels_.size();
  for (std::size_t c = 0; c < channels_.size(); ++c) {
    const std::span<std::uint16_t> cube = counts.subspan(c * cells, cells);
    if (const auto* file = std::get_if<histogram::CountFile>(&channels_[c])) {
      histogram::read_coarse(*file, file->header().cells_per_side / cells_, regions_.origin(n),
                             regions_.cells(), cube);
    } else {
      copy_cube(std::get<core::Buffer<std::uint16_t>>(channels_[c]).span(), cells_, regions_.origin(n),
                regions_.cells(), cube);
    }
  }
}

void UniverseCounts::read(int n, std::span<float> field) const {
  const std::size_t cells = field.size() / channels_.size();
  for (std::size_t c = 0; c < channels_.size(); ++c) {
    copy_cube(std::get<core::Buffer<float>>(channels_[c]).span(), cells_, regions_.origin(n),
              regions_.cells(), field.subspan(c * cells, cells));
  }
}

std::uint64_t OpenUniverse::memory_bytes(const nn::ModelManifest& model, int threads) const {
  if (const auto* weighed = std::get_if<histogram::WeighedSnapshot>(&content)) {
    const histogram::GadgetSnapshot& snapshot = weighed->snapshot;
    return histogram::counting_memory({cells, snapshot.box_size()}, snapshot.particles(),
                                      snapshot.float_bytes(), 1, threads, weighed->unit.has_value());
  }
  const auto* array = std::get_if<NpyUniverse>(&content);
  return array == nullptr ? 0 : 2 * array->file.memory_bytes(transform_of(model).kind);
}

OpenUniverse open_universe(const nn::ModelManifest& model, const UniverseSource& source, Compare compare) {
  const fs::path& path = source.path;
  ensure(fs::exists(path), Fault::io,
         "{} of --input does not exist: give counts, snapshots, .npy files or a suite.", path.string());
  if (path.extension() == ".npy") return open_npy(model, source);
  ensure(transform_of(model).kind == dataset::VoxelKind::counts, Fault::config,
         "{} is not an .npy file and the model was trained on fields: give these in .npy files, or --data.",
         path.string());
  if (source.packs != nullptr) return open_row(model, source, compare);
  std::vector<fs::path> files;
  for (const core::FileRecord& record : source.records) files.push_back(source.suite / record.path);
  if (files.empty() && fs::is_directory(path)) files = counts_in(path, model);
  if (files.empty() && fs::is_directory(path)) return open_snapshot(model, source);
  const bool single = files.empty();
  if (single) files = {path};
  if (compare == Compare::content) compare_with_manifest(source, files);
  return single && held_in(path) != Held::counts ? open_snapshot(model, source) : open_counts(model, files);
}

UniverseCounts read_universe(const core::Log& log, const nn::ModelManifest& model, OpenUniverse universe) {
  std::vector<UniverseCounts::Channel> channels = std::visit(
      [&](auto& content) { return read_channels(log, model, universe, content); }, universe.content);
  return {std::move(channels), universe.cells, model.input.size};
}

}  // namespace cosmo::infer
