#include "histogram/count_file.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/universe/cosmology_attributes.hpp"
#include "core/universe/snapshot.hpp"

namespace cosmo::histogram {

using core::ensure;
using core::Fault;
using core::hdf5::Dataset;
using core::hdf5::File;
using core::hdf5::Shape;

namespace {

void write_header(File& file, const CountFileHeader& header) {
  file.set_attribute("schema", std::string(kCountSchema));
  core::write_voxels_of(file, header, header.grid());
}

CountFileHeader read_header(const File& file, const Shape& shape, const std::string& path) {
  constexpr hsize_t kMostCells = 1 << 14;
  ensure(file.text_attribute("schema") == kCountSchema, Fault::format,
         "{} has schema '{}': this version reads {}.", path, file.text_attribute("schema"), kCountSchema);
  ensure(shape.size() == 3 && shape[0] > 0 && shape[0] <= kMostCells && shape[1] == shape[0] &&
             shape[2] == shape[0],
         Fault::format, "{} /counts has shape ({}), which is not a cube: restore the file.", path,
         fmt::join(shape, ", "));
  CountFileHeader header{{.universe = {file.integer_attribute("seed"), core::read_cosmology(file, path)},
                          .box_size = file.number_attribute("box"),
                          .redshift = file.number_attribute("redshift"),
                          .particles = file.integer_attribute("particles"),
                          .code_version = file.text_attribute("code_version"),
                          .line_of_sight = core::read_line_of_sight(file)},
                         static_cast<int>(shape[0])};
  core::check(header, path);
  ensure(file.number_attribute("voxel") == header.grid().cell_size(), Fault::format,
         "{} has a box of {} Mpc/h that does not agree with its voxel: restore the file.", path,
         header.box_size);
  return header;
}

}  // namespace

void write_counts(const core::Communicator& comm, const std::filesystem::path& path,
                  const CountFileHeader& header, const CountGrid& grid) {
  ensure_all_counted(comm, grid, header.particles);
  const auto n = static_cast<hsize_t>(grid.spec().cells_per_side);
  const auto first = static_cast<hsize_t>(grid.slab().first);
  const auto planes = static_cast<hsize_t>(grid.slab().size());
  File file = File::create(path, comm, [&](File& made) {
    write_header(made, header);
    made.create_dataset<std::uint16_t>("counts", {n, n, n});
  });
  std::optional<Dataset> counts;
  comm.agree([&] { counts.emplace(file.dataset("counts")); });
  comm.agree([&] { counts->write({first, 0, 0}, {planes, n, n}, grid.counts()); });
  counts.reset();
  comm.agree([&] { file.close(); });
}

CountFile::CountFile(const std::filesystem::path& path)
    : name_(path.string()),
      file_(File::open(path)),
      counts_(file_->dataset("counts")),
      header_(read_header(*file_, counts_.shape(), name_)) {
  counts_.require<std::uint16_t>(counts_.shape());
}

CountFile::CountFile(const CountPack& pack, std::size_t row, double redshift)
    : counts_(pack.counts(redshift).share()), row_(row) {
  const CountPackHeader& all = pack.header();
  ensure(row < all.universes.size(), Fault::config, "{} has {} universes and no row {}: give one of these.",
         pack.path().string(), all.universes.size(), row);
  const PackedUniverse& one = all.universes[row];
  name_ = fmt::format("{} universe {}", pack.path().string(), one.simulation);
  header_ = {{.universe = one.universe,
              .box_size = one.box_size,
              .redshift = redshift,
              .particles = all.particles,
              .code_version = all.code_version,
              .line_of_sight = all.line_of_sight},
             all.cells_per_side};
  core::check(header_, name_);
}

void CountFile::read_box(const std::array<std::ptrdiff_t, 3>& start,
                         const std::array<std::ptrdiff_t, 3>& size, std::span<std::uint16_t> counts) const {
  Shape from(start.begin(), start.end()), count(size.begin(), size.end());
  if (row_) {
    from.insert(from.begin(), *row_);
    count.insert(count.begin(), 1);
  }
  counts_.read(from, count, counts);
}

void CountFile::read(const std::array<int, 3>& origin, int cells, std::span<std::uint16_t> counts) const {
  const auto n = static_cast<std::ptrdiff_t>(header_.cells_per_side);
  const std::ptrdiff_t side = cells, whole_y = std::min(side, n - origin[1]),
                       whole_z = std::min(side, n - origin[2]);
  std::vector<std::uint16_t> rows(static_cast<std::size_t>(side * n));  // whole rows, which are contiguous
  auto to = counts.begin();
  for (std::ptrdiff_t i = 0; i < side; ++i) {
    const std::ptrdiff_t x = (origin[0] + i) % n;
    const std::span all(rows);
    read_box({x, origin[1], 0}, {1, whole_y, n}, all.first(static_cast<std::size_t>(whole_y * n)));
    if (whole_y < side)
      read_box({x, 0, 0}, {1, side - whole_y, n}, all.subspan(static_cast<std::size_t>(whole_y * n)));
    for (std::ptrdiff_t j = 0; j < side; ++j) {
      const auto row = rows.begin() + j * n;
      to = std::copy_n(row + origin[2], whole_z, to);
      to = std::copy_n(row, side - whole_z, to);
    }
  }
}

void CountFile::read_planes(core::Slab planes, std::span<std::uint16_t> counts) const {
  const std::ptrdiff_t n = header_.cells_per_side;
  read_box({planes.first, 0, 0}, {planes.size(), n, n}, counts);
}

void CountFile::check_sum() const {
  const std::ptrdiff_t n = header_.cells_per_side;
  std::vector<std::uint16_t> plane(static_cast<std::size_t>(n * n));
  std::uint64_t sum = 0;
  for (std::ptrdiff_t i = 0; i < n; ++i) {
    read_box({i, 0, 0}, {1, n, n}, plane);
    sum = std::accumulate(plane.begin(), plane.end(), sum);
  }
  ensure(sum == header_.particles, Fault::format,
         "{} holds {} particles and records {}: run the simulation again with --force.", name_, sum,
         header_.particles);
}

}  // namespace cosmo::histogram
