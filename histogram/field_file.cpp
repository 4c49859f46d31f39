#include "histogram/field_file.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "core/error.hpp"
#include "core/finite.hpp"
#include "core/hdf5/hdf5.hpp"
#include "core/universe/cosmology_attributes.hpp"

namespace cosmo::histogram {

namespace {

FieldFileHeader read_field_header(const core::hdf5::File& file, const core::hdf5::Shape& shape,
                                  const std::string& path) {
  constexpr hsize_t kLongestSide = 1 << 14, kMostComponents = 3;
  const bool scalar = shape.size() == 3;
  core::ensure((scalar || (shape.size() == 4 && shape[0] > 1 && shape[0] <= kMostComponents)) &&
                   shape.back() > 0 && shape.back() <= kLongestSide &&
                   shape[shape.size() - 2] == shape.back() && shape[shape.size() - 3] == shape.back(),
               core::Fault::format, "{} has a field of shape ({}), which is not a cube: restore the file.",
               path, fmt::join(shape, ", "));
  FieldFileHeader header{{.universe = {file.integer_attribute("seed"), core::read_cosmology(file, path)},
                          .box_size = file.number_attribute("box"),
                          .redshift = file.number_attribute("redshift"),
                          .particles = file.integer_attribute("particles"),
                          .code_version = file.text_attribute("code_version"),
                          .line_of_sight = core::read_line_of_sight(file)},
                         file.text_attribute("quantity"),
                         static_cast<int>(shape.back()),
                         scalar ? 1 : static_cast<int>(shape[0])};
  core::check(header, path);
  if (header.quantity != kWeb) return header;
  header.web = {file.number_attribute("web_radius"), file.number_attribute("web_threshold")};
  core::ensure(scalar && header.web->radius > 0 && std::isfinite(header.web->radius) &&
                   std::isfinite(header.web->threshold),
               core::Fault::format, "{} has classes of the radius {} and the threshold {}: restore the file.",
               path, header.web->radius, header.web->threshold);
  return header;
}

std::string quantity_of(const core::hdf5::File& file, const std::string& path) {
  const std::string schema = file.text_attribute("schema"), quantity = file.text_attribute("quantity");
  core::ensure(schema == kFieldSchema, core::Fault::format, "{} has schema '{}': this version reads {}.",
               path, schema, kFieldSchema);
  core::ensure(quantity == "initial" || quantity == "velocity" || quantity == kWeb, core::Fault::format,
               "{} has a field '{}': this version reads initial, velocity and web.", path, quantity);
  return quantity;
}

template <class T>
void write_values(const core::Communicator& comm, const std::filesystem::path& path,
                  const FieldFileHeader& header, std::span<const T> values) {
  const auto n = static_cast<hsize_t>(header.cells_per_side);
  const core::Slab slab = core::slab_of(header.cells_per_side, comm.rank(), comm.size());
  const auto first = static_cast<hsize_t>(slab.first), planes = static_cast<hsize_t>(slab.size());
  const bool scalar = header.components == 1;
  const auto components = static_cast<hsize_t>(header.components);
  core::hdf5::File file = core::hdf5::File::create(path, comm, [&](core::hdf5::File& made) {
    made.set_attribute("schema", std::string(kFieldSchema));
    made.set_attribute("quantity", header.quantity);
    core::write_voxels_of(made, header, header.grid());
    if (header.web) {
      made.set_attribute("web_radius", header.web->radius);
      made.set_attribute("web_threshold", header.web->threshold);
    }
    made.create_dataset<T>(header.quantity,
                           scalar ? core::hdf5::Shape{n, n, n} : core::hdf5::Shape{components, n, n, n});
  });
  std::optional<core::hdf5::Dataset> field;
  comm.agree([&] { field.emplace(file.dataset(header.quantity)); });
  comm.agree([&] {
    if (scalar)
      field->write({first, 0, 0}, {planes, n, n}, values);
    else
      field->write({0, first, 0, 0}, {components, planes, n, n}, values);
  });
  field.reset();
  comm.agree([&] { file.close(); });
}

}  // namespace

void write_field(const core::Communicator& comm, const std::filesystem::path& path,
                 const FieldFileHeader& header, std::span<const float> values) {
  comm.agree([&] {
    core::ensure(
        core::all_finite(values), core::Fault::numeric,
        "{}: a value of the field is not a finite number: check the cosmology and the steps of the simulation.",
        path.string());
  });
  write_values(comm, path, header, values);
}

void write_field(const core::Communicator& comm, const std::filesystem::path& path,
                 const FieldFileHeader& header, std::span<const std::uint8_t> classes) {
  write_values(comm, path, header, classes);
}

FieldFile::FieldFile(const std::filesystem::path& path)
    : path_(path.string()),
      file_(core::hdf5::File::open(path)),
      field_(file_.dataset(quantity_of(file_, path_))),
      header_(read_field_header(file_, field_.shape(), path_)) {
  if (header_.web)
    field_.require<std::uint8_t>(field_.shape());
  else
    field_.require<float>(field_.shape());
}

void FieldFile::read_planes(int component, core::Slab planes, std::span<float> values) const {
  if (header_.web) {
    std::vector<std::uint8_t> classes(values.size());
    read_classes(planes, classes);
    std::ranges::copy(classes, values.begin());
    return;
  }
  const auto n = static_cast<hsize_t>(header_.cells_per_side), first = static_cast<hsize_t>(planes.first),
             size = static_cast<hsize_t>(planes.size());
  if (header_.components == 1)
    field_.read({first, 0, 0}, {size, n, n}, values);
  else
    field_.read({static_cast<hsize_t>(component), first, 0, 0}, {1, size, n, n}, values);
  core::ensure(core::all_finite(values), core::Fault::format,
               "{} has a value that is not a finite number: run the simulation again with --force.", path_);
}

void FieldFile::read_classes(core::Slab planes, std::span<std::uint8_t> classes) const {
  const auto n = static_cast<hsize_t>(header_.cells_per_side);
  field_.read({static_cast<hsize_t>(planes.first), 0, 0}, {static_cast<hsize_t>(planes.size()), n, n},
              classes);
  const auto wrong =
      std::ranges::find_if(classes, [](std::uint8_t c) { return c >= core::kWebClasses.size(); });
  core::ensure(wrong == classes.end(), core::Fault::format,
               "{} has a voxel of class {}, beyond {}: run the simulation again with --force.", path_,
               wrong == classes.end() ? 0 : *wrong, core::kWebClasses.size() - 1);
}

core::WebVolumes web_volumes(const FieldFile& file) {
  const int n = file.header().cells_per_side;
  std::vector<std::uint8_t> plane(static_cast<std::size_t>(n) * static_cast<std::size_t>(n));
  core::WebVolumes volumes;
  for (int x = 0; x < n; ++x) {
    file.read_classes({x, x + 1}, plane);
    for (const std::uint8_t c : plane) ++volumes.voxels[c];
  }
  return volumes;
}

}  // namespace cosmo::histogram
