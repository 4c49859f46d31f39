#include "histogram/count_pack.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "core/error.hpp"
#include "core/universe/cosmology_attributes.hpp"
#include "core/version.hpp"

namespace cosmo::histogram {

using core::ensure;
using core::Fault;
using core::hdf5::Dataset;
using core::hdf5::File;
using core::hdf5::Shape;

namespace {

constexpr hsize_t kMostCells = 1 << 14;
constexpr hsize_t kMostUniverses = 1 << 20;
constexpr std::size_t kMostOpen = 256;

std::string name_of(double redshift) { return fmt::format("counts_z{}", redshift); }

void write_header(File& file, const CountPackHeader& header) {
  std::vector<std::uint64_t> simulations, seeds;
  std::vector<double> parameters, boxes;
  for (const PackedUniverse& one : header.universes) {
    simulations.push_back(one.simulation);
    seeds.push_back(one.universe.seed);
    boxes.push_back(one.box_size);
    for (const core::CosmologyParameter& row : core::kCosmologyParameters)
      parameters.push_back(one.universe.cosmology.*row.member);
  }
  const hsize_t universes = header.universes.size();
  file.set_attribute("schema", std::string(kPackSchema));
  file.set_attribute("parameter_names", core::parameter_names());
  if (!header.redshifts.empty()) file.set_attribute("redshifts", header.redshifts);
  file.set_attribute("particles", header.particles);
  file.set_attribute("code_version", core::version());
  core::write_line_of_sight(file, header.line_of_sight);
  file.write<std::uint64_t>("simulation", {universes}, simulations);
  file.write<std::uint64_t>("seed", {universes}, seeds);
  file.write<double>("parameters", {universes, core::kCosmologyParameters.size()}, parameters);
  file.write<double>("box", {universes}, boxes);
}

CountPackHeader read_header(const File& file, const std::string& path) {
  ensure(file.text_attribute("schema") == kPackSchema, Fault::format,
         "{} has schema '{}': this version reads {}.", path, file.text_attribute("schema"), kPackSchema);
  const Shape shape = file.dataset("simulation").shape();
  ensure(shape.size() == 1 && shape.front() > 0 && shape.front() <= kMostUniverses, Fault::format,
         "{} /simulation has shape ({}), which is not a list: restore the file.", path,
         fmt::join(shape, ", "));
  const std::size_t universes = shape.front();
  const std::vector<std::string> names = file.texts_attribute("parameter_names");
  const auto simulations = file.read<std::uint64_t>("simulation", {universes});
  const auto seeds = file.read<std::uint64_t>("seed", {universes});
  const auto boxes = file.read<double>("box", {universes});
  const auto parameters = file.read<double>("parameters", {universes, names.size()});
  CountPackHeader header{.particles = file.integer_attribute("particles"),
                         .line_of_sight = core::read_line_of_sight(file),
                         .code_version = file.text_attribute("code_version")};
  if (file.has_attribute("redshifts")) header.redshifts = file.numbers_attribute("redshifts");
  for (std::size_t u = 0; u < universes; ++u) {
    const auto values = std::span(parameters).subspan(u * names.size(), names.size());
    header.universes.push_back(
        {simulations[u], {seeds[u], core::cosmology_of(names, values, path)}, boxes[u]});
  }
  return header;
}

}  // namespace

CountPackWriter::CountPackWriter(const core::Communicator& comm, const std::filesystem::path& path,
                                 const CountPackHeader& header, const std::function<void(File&)>& more)
    : comm_(comm), particles_(header.particles), file_(File::create(path, comm, [&](File& made) {
        write_header(made, header);
        const auto n = static_cast<hsize_t>(header.cells_per_side);
        for (const double redshift : header.redshifts)
          made.create_dataset<std::uint16_t>(name_of(redshift), {header.universes.size(), n, n, n});
        more(made);
      })) {}

void CountPackWriter::write(std::size_t row, double redshift, const CountGrid& grid) {
  ensure_all_counted(comm_, grid, particles_);
  const auto n = static_cast<hsize_t>(grid.spec().cells_per_side);
  const auto first = static_cast<hsize_t>(grid.slab().first);
  const auto planes = static_cast<hsize_t>(grid.slab().size());
  comm_.agree([&] {
    file_.dataset(name_of(redshift)).write({row, first, 0, 0}, {1, planes, n, n}, grid.counts());
  });
}

void CountPackWriter::close() {
  comm_.agree([&] { file_.close(); });
}

CountPack::CountPack(const std::filesystem::path& path)
    : path_(path), file_(File::open(path)), header_(read_header(file_, path.string())) {
  for (const double redshift : header_.redshifts) {
    Dataset counts = file_.dataset(name_of(redshift));
    const hsize_t n = counts.shape().back();
    ensure(n > 0 && n <= kMostCells, Fault::format, "{} /{} has {} voxels per side: restore the file.",
           path.string(), name_of(redshift), n);
    counts.require<std::uint16_t>({header_.universes.size(), n, n, n});
    ensure(counts_.empty() || header_.cells_per_side == static_cast<int>(n), Fault::format,
           "{} has counts on different grids: restore the file.", path.string());
    header_.cells_per_side = static_cast<int>(n);
    ensure(counts_.emplace(redshift, std::move(counts)).second, Fault::format,
           "{} names z = {} twice: restore the file.", path.string(), redshift);
  }
}

const Dataset& CountPack::counts(double redshift) const {
  const auto found = counts_.find(redshift);
  ensure(found != counts_.end(), Fault::config, "{} has no counts at z = {}, only at z = {}: make them.",
         path_.string(), redshift, fmt::join(header_.redshifts, ", "));
  return found->second;
}

std::uint64_t OpenPacks::memory_bytes(std::size_t packs, std::size_t universes_each) {
  constexpr std::uint64_t kOfFile = 800'000;  // mostly HDF5's, measured for 100 packs of 1000
  return std::min(packs, kMostOpen) * (kOfFile + universes_each * sizeof(PackedUniverse));
}

const CountPack& OpenPacks::open(const std::filesystem::path& path, const std::function<void()>& check) {
  const auto found = std::ranges::find(open_, path, &CountPack::path);
  if (found != open_.end()) {
    open_.splice(open_.begin(), open_, found);
    return open_.front();
  }
  if (checked_.insert(path).second) check();
  if (open_.size() == kMostOpen) open_.pop_back();
  return open_.emplace_front(path);
}

}  // namespace cosmo::histogram
